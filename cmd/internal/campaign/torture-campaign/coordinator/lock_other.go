//go:build !unix

package coordinator

// Lock does nothing where there are no such locks.
func (f Folder) Lock() (unlock func(), err error) { return func() {}, nil }
