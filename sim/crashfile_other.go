//go:build !unix

package sim

import (
	"errors"
	"os"
)

func shareMemory(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unshareMemory([]byte) {}
