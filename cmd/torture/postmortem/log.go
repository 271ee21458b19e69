package postmortem

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// transaction is what one record of a log says. Its fields are those of org.apache.zookeeper.txn.TxnHeader.
type transaction struct {
	session, zxid int64
	time          int64 // of the leader's clock, in milliseconds of Unix time
	op            wire.Op
	body          record // the rest: what is made, changed or deleted
}

const opDeleteContainer wire.Op = 20 // which clients cannot ask for (org.apache.zookeeper.ZooDefs.OpCode)

// numbered is a file whose name ends with a zxid in hexadecimal: log.1 begins with it, snapshot.0 was begun after it.
type numbered struct {
	name string
	zxid int64
}

// files are those of a folder, or of its folder version-2, whose names begin with kind, by their zxids.
func files(dir, kind string) ([]numbered, error) {
	if inner := filepath.Join(dir, "version-2"); isFolder(inner) {
		dir = inner
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []numbered
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), kind+".")
		digits, _, _ = strings.Cut(digits, ".") // .gz and .snappy follow it
		if zxid, err := strconv.ParseUint(digits, 16, 64); ok && err == nil {
			all = append(all, numbered{filepath.Join(dir, e.Name()), int64(zxid)})
		}
	}
	slices.SortFunc(all, func(a, b numbered) int { return cmp.Compare(uint64(a.zxid), uint64(b.zxid)) })
	return all, nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// The first bytes of a file: what it is, the version of the format, the database's id.
const (
	logMagic      = 0x5a4b4c47 // ZKLG
	snapshotMagic = 0x5a4b534e // ZKSN
	headerLength  = 16
	recordMax     = 64 << 20 // bytes; a longer one is no transaction
)

var errTorn = errors.New("the file ends within a transaction, as when a server was killed; what is before it was read")

// readLog hands out the transactions of a log file, one after the other; one is valid until the next. A file is filled
// up with zeros, at which it ends.
func readLog(name string, do func(*transaction) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	if err := header(in, logMagic, "transaction log"); err != nil {
		return err
	}
	var lengths [12]byte
	var text []byte
	for t := new(transaction); ; {
		if _, err := io.ReadFull(in, lengths[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return errTorn
		}
		sum, n := binary.BigEndian.Uint64(lengths[:]), int(int32(binary.BigEndian.Uint32(lengths[8:])))
		if n == 0 {
			return nil
		}
		if n < 0 || n > recordMax {
			return fmt.Errorf("after zxid %#x there is a record of %d bytes: the file is damaged", t.zxid, n)
		}
		text = slices.Grow(text[:0], n+1)[:n+1]
		if _, err := io.ReadFull(in, text); err != nil || text[n] == 0 {
			return errTorn
		}
		if text[n] != 'B' || uint64(adler32.Checksum(text[:n])) != sum {
			return fmt.Errorf("the record after zxid %#x has another checksum: the file is damaged", t.zxid)
		}
		r := record{rest: text[:n]}
		t.session, _, t.zxid, t.time, t.op = r.long(), r.int(), r.long(), r.long(), wire.Op(r.int())
		t.body = r
		if err := do(t); err != nil {
			return err
		}
	}
}

// header reads the head of a file.
func header(in io.Reader, magic uint32, what string) error {
	var head [headerLength]byte
	if _, err := io.ReadFull(in, head[:]); err == io.EOF || err == io.ErrUnexpectedEOF {
		return errTorn
	} else if err != nil || binary.BigEndian.Uint32(head[:]) != magic {
		return fmt.Errorf("it is not a %s of ZooKeeper's", what)
	}
	if version := binary.BigEndian.Uint32(head[4:]); version != 2 {
		return fmt.Errorf("it has version %d of the format; 2 can be read", version)
	}
	return nil
}

// record is jute, ZooKeeper's way to write structures, read from its beginning: of rest, or of a file. What is too short
// sets bad.
type record struct {
	rest []byte
	file io.Reader // if not nil rest is what was taken of it last
	bad  bool
}

// take returns the next bytes; those of a file are valid until it is called again.
func (r *record) take(n int) []byte {
	if r.file != nil && !r.bad && n >= 0 && n <= recordMax {
		r.rest = slices.Grow(r.rest[:0], n)[:n]
		if _, err := io.ReadFull(r.file, r.rest); err == nil {
			return r.rest
		}
	}
	if r.file != nil || n < 0 || n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *record) bool() bool {
	b := r.take(1)
	return len(b) == 1 && b[0] != 0
}

func (r *record) int() int32 {
	if b := r.take(4); len(b) == 4 {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *record) long() int64 {
	if b := r.take(8); len(b) == 8 {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// bytes is a buffer or a string; one of length -1 is null.
func (r *record) bytes() []byte {
	if n := r.int(); n != -1 {
		return r.take(int(n))
	}
	return nil
}

// acl skips a list of permissions.
func (r *record) acl() {
	for n := r.int(); n > 0 && !r.bad; n-- {
		r.int()
		r.bytes()
		r.bytes()
	}
}
