//go:build !unix

package runner

import (
	"errors"
	"os"
)

func shareMemory(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unshareMemory([]byte) {}
