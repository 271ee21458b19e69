//go:build !unix

package posix

import (
	"os"
	"syscall"
)

// Stop and Continue are never sent: [Allowed] returns an error.
const (
	Stop     = syscall.Signal(19)
	Continue = syscall.Signal(18)
)

// Allowed returns an error if this system is no Unix.
func Allowed() error { return ErrMissing }

// OwnGroup changes nothing.
func OwnGroup() *syscall.SysProcAttr { return nil }

// OwnSession changes nothing.
func OwnSession() *syscall.SysProcAttr { return nil }

// SignalGroup returns an error: this needs a Unix.
func SignalGroup(int, syscall.Signal) error { return ErrMissing }

// TryLock returns an error: this needs a Unix.
func TryLock(*os.File) error { return ErrMissing }

// OpenOwn returns an error: this needs a Unix.
func OpenOwn(string) (*os.File, error) { return nil, ErrMissing }
