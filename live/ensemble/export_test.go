package ensemble

// SetInstalled changes where installed packages are looked for, until it is restored.
func SetInstalled(dir string) (restore func()) {
	old := installed
	installed = dir
	return func() { installed = old }
}

// WithPorts returns options under which the ports found are changed before they are used.
func (o Options) WithPorts(change func(found []int)) Options {
	o.freePorts = func(n int) ([]claim, error) {
		claims, err := freePorts(n)
		found := make([]int, len(claims))
		for i, c := range claims {
			found[i] = c.port
		}
		change(found)
		for i := range claims {
			claims[i].port = found[i]
		}
		return claims, err
	}
	return o
}
