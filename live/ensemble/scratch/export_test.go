package scratch

// RemoverPid is the process that removes the folder at the moment.
func (f *Folder) RemoverPid() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.remover.Pid()
}
