//go:build !unix

package proc

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

var errMissing = errors.New("this starts, pauses and kills processes as Unix does, which " + runtime.GOOS +
	" cannot: run it on Linux (on Windows: in WSL 2 or a container). The simulator and torture serve run on every system")

// Stop and Continue are never sent: [Allowed] returns an error.
const (
	Stop     = syscall.Signal(19)
	Continue = syscall.Signal(18)
)

// Allowed returns an error if this system is no Unix.
func Allowed() error { return errMissing }

// OwnGroup changes nothing.
func OwnGroup() *syscall.SysProcAttr { return nil }

// SignalGroup returns an error: this needs a Unix.
func SignalGroup(int, syscall.Signal) error { return errMissing }

// tryLock returns an error: this needs a Unix.
func tryLock(*os.File) error { return errMissing }
