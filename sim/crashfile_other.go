//go:build !unix

package sim

import (
	"errors"
	"os"
)

// shareMemory is for systems where a file can be memory.
func shareMemory(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unshareMemory([]byte) {}
