// Package posix has what the processes of servers and workers need of a Unix: signals, process groups, sessions and
// locks on files. Elsewhere everything returns one error, [ErrMissing], which says where it works.
package posix

import (
	"errors"
	"runtime"
)

// ErrMissing is returned for everything on systems other than Unix.
var ErrMissing = errors.New("this starts, pauses and kills processes as Unix does, which " + runtime.GOOS +
	" cannot: run it on Linux (on Windows: in WSL 2 or a container). The simulator and torture serve run on every system")
