//go:build !linux && !darwin

package about

import (
	"errors"
	"runtime"
)

// freeSpace returns an error: it is not known how to ask here.
func freeSpace(string) (uint64, error) {
	return 0, errors.New("how much is free is not known on " + runtime.GOOS)
}
