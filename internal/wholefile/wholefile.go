// Package wholefile writes files atomically.
package wholefile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Write replaces the content of a file. If it fails, on a full disk for example, the old content remains, and nothing
// else is left. A special file such as a pipe or a device is written to in place.
func Write(name string, data []byte) error {
	mode := fs.FileMode(0o644)
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return os.WriteFile(name, data, mode)
	case err == nil: // perhaps through a link
		mode = info.Mode().Perm()
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err
		}
	}
	next := fmt.Sprintf("%s.%08x.tmp", name, rand.Uint32())
	if err := create(next, data, mode); err != nil {
		return err
	}
	if err := os.Rename(next, name); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}

// create leaves nothing behind if it fails.
func create(name string, data []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = cmp.Or(err, file.Close()); err != nil {
		os.Remove(name)
	}
	return err
}
