package ensemble

// WithPorts returns options under which the ports found are changed before they are used.
func (o Options) WithPorts(change func(found []int)) Options {
	o.freePorts = func(n int) ([]int, error) {
		found, err := freePorts(n)
		change(found)
		return found, err
	}
	return o
}
