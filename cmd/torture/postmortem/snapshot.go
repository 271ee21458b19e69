package postmortem

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// readSnapshot hands out the sessions and the ephemeral znodes of a snapshot, or returns an error that says what is
// wrong with it. Servers go on while they write one, so it may show a part of what came after its zxid.
func readSnapshot(name string, session func(id int64), ephemeral func(path string, owner, czxid, ctime int64)) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var from io.Reader = bufio.NewReaderSize(f, 1<<20)
	switch filepath.Ext(name) {
	case ".gz":
		if from, err = gzip.NewReader(from); err != nil {
			return err
		}
	case ".snappy":
		return errors.New("snapshots compressed by snappy are not read; have the server write one with snapshot.compression.method=gz")
	}
	in := &stream{in: bufio.NewReader(from)}
	if err := header(in.in, snapshotMagic, "snapshot"); err != nil {
		return err
	}
	for n := in.int(); n > 0 && in.err == nil; n-- {
		id := in.long()
		in.int() // its timeout
		session(id)
	}
	for n := in.int(); n > 0 && in.err == nil; n-- { // lists of permissions
		in.long()
		for m := in.int(); m > 0 && in.err == nil; m-- {
			in.int()
			in.text()
			in.text()
		}
	}
	for {
		path := in.text()
		if in.err != nil {
			return fmt.Errorf("the snapshot is cut off or damaged: %w", in.err)
		}
		if path == "/" {
			return nil
		}
		in.skip() // data
		in.long() // its permissions
		czxid, _, ctime := in.long(), in.long(), in.long()
		in.long() // mtime
		in.int()
		in.int()
		in.int()
		owner := in.long()
		in.long() // pzxid
		if isSession(owner) {
			ephemeral(path, owner, czxid, ctime)
		}
	}
}

// isSession is false of what containers and znodes with a time to live have as their owner (server.EphemeralType).
func isSession(owner int64) bool {
	return owner != 0 && owner != math.MinInt64 && uint64(owner)>>56 != 0xff
}

// stream reads jute from a file.
type stream struct {
	in  *bufio.Reader
	err error
}

func (s *stream) read(n int) (x uint64) {
	var b [8]byte
	if s.err == nil {
		_, s.err = io.ReadFull(s.in, b[8-n:])
	}
	return binary.BigEndian.Uint64(b[:])
}

func (s *stream) int() int32  { return int32(s.read(4)) }
func (s *stream) long() int64 { return int64(s.read(8)) }

func (s *stream) skip() {
	if n := s.int(); n > 0 && s.err == nil {
		_, s.err = s.in.Discard(int(n))
	}
}

func (s *stream) text() string {
	n := s.int()
	if n <= 0 || s.err != nil {
		return ""
	}
	if n > recordMax {
		s.err = fmt.Errorf("a string of %d bytes", n)
		return ""
	}
	b := make([]byte, n)
	_, s.err = io.ReadFull(s.in, b)
	return string(b)
}
