package ensemble

// SetInstalled changes where installed packages are looked for, until it is restored.
func SetInstalled(dir string) (restore func()) {
	old := installed
	installed = dir
	return func() { installed = old }
}

// WithPorts returns options under which the ports found are changed before they are used.
func (o Options) WithPorts(change func(found []int)) Options {
	o.freePorts = func(n int) ([]int, error) {
		found, err := freePorts(n)
		change(found)
		return found, err
	}
	return o
}
