//go:build !linux

package campaign

import "errors"

// smallDisk makes a folder a disk of its own.
func smallDisk(string) (unmount func(), err error) { return nil, errors.ErrUnsupported }
