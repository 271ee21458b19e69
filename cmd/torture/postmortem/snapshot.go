package postmortem

import (
	"bufio"
	"compress/gzip"
	"errors"
	"hash/adler32"
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
	sum := adler32.New()
	in := &record{file: io.TeeReader(bufio.NewReader(from), sum)}
	if err := header(in.file, snapshotMagic, "snapshot"); err != nil {
		return err
	}
	for n := in.int(); n > 0 && !in.bad; n-- {
		id := in.long()
		in.int() // its timeout
		session(id)
	}
	for n := in.int(); n > 0 && !in.bad; n-- { // lists of permissions
		in.long()
		in.acl()
	}
	for {
		path := string(in.bytes())
		if in.bad {
			return errors.New("the snapshot is cut off or damaged")
		}
		if want := int64(sum.Sum32()); path == "/" {
			if in.long() != want {
				return errors.New("the snapshot is cut off, or has another checksum: it is damaged")
			}
			return nil
		}
		in.bytes() // data
		in.long()  // its permissions
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
