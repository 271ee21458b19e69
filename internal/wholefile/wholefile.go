// Package wholefile reads and writes files as a whole: in bounded memory and interruptibly, and atomically. It also names
// the types of some (format.go).
package wholefile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Read reads a file of at most so many bytes. Opening or reading a pipe cannot be cancelled: once the context ends,
// that is left to end with the process.
func Read(ctx context.Context, name string, most int64) ([]byte, error) {
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		data, err := readAll(name, most)
		done <- read{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: interrupted while it was read", name)
	}
}

func readAll(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s: it is larger than %d MB", name, most>>20)
	}
	return data, err
}

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

// WriteBy replaces the content of a file by what a function writes, unless that fails.
func WriteBy(name string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return Write(name, text.Bytes())
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
