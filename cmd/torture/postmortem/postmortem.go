// Package postmortem judges what servers themselves have written: ZooKeeper's transaction logs and snapshots. A log has
// every change in the order in which all servers made it, numbered by zxids, and the session that asked for it. So it
// says, after a bad night, which session had the first znode of a lock, from which zxid to which. Beside what clients
// say, or what only a holder may change, it shows two holders:
//
//   - Two clients say that they held a lock at the same time, and both sessions were alive.
//   - A client says that it held a lock while the first znode was of another session, and both were alive.
//   - A session changed what a lock guards while another was the holder. This needs no clock and no client's word.
//   - A znode came to sort before the first one, whose owner had been told that it holds: a sequence number that wrapped.
//
// A client that has not been told that its session ended may believe what it likes; such holds are counted, and accuse
// nobody. That is what fencing is for.
//
// The formats are those of Apache ZooKeeper 3.4 to 3.9 (org.apache.zookeeper.server.persistence.FileTxnLog, FileSnap).
package postmortem

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/cli/console"
)

func init() { cli.CheckTxnLog = check }

func check(c *console.Context, by cli.TxnLog, held io.Reader) error {
	j := newJudge(by.Lock)
	for _, guard := range by.Guards {
		what, lock, ok := strings.Cut(guard, "=")
		if !ok || !strings.HasPrefix(what, "/") || !strings.HasPrefix(lock, "/") {
			return fmt.Errorf("--guards %s: write PATH=LOCK, such as /data=/locks/a", guard)
		}
		j.guarded[what] = j.lock(lock)
	}
	if _, err := console.Interruptible(c, func() (struct{}, error) { return struct{}{}, j.readClaims(held, by.Clocks) }); err != nil {
		return fmt.Errorf("what clients held: %w", err)
	}
	read, err := console.Interruptible(c, func() (*reading, error) { return read(c, by.Dir, j) })
	if err != nil {
		return console.OfFile(by.Dir, err)
	}
	found, more := j.finish()
	for _, v := range found {
		fmt.Fprintln(c.Stdout, "violation: "+v.text)
	}
	for _, note := range slices.Concat(read.notes, j.notes()) {
		fmt.Fprintln(c.Stdout, note)
	}
	verdict, exit := "ok", console.ExitOK
	switch {
	case len(found) > 0:
		verdict, exit = "violation", console.ExitViolation
	case read.cut || j.strangers > 0 || len(j.locks) == 0:
		verdict, exit = "unknown", console.ExitUnknown
	}
	if more > 0 {
		fmt.Fprintf(c.Stdout, "%d violations more\n", more)
	}
	console.PaintVerdict(c.Stdout, verdict)
	fmt.Fprintf(c.Stdout, ": %d transactions of %d files, zxid %v to %v; %d locks, %d holds that clients name\n", read.n, read.files,
		read.from, j.now, len(j.locks), j.named)
	return c.End(exit, nil)
}

// reading is how far logs were read.
type reading struct {
	files int
	n     int64 // transactions
	from  moment
	cut   bool // something is missing that the verdict depends on
	notes []string
}

// read replays the logs of a folder. It begins where all is known: at the first transaction there ever was, or else at
// the oldest snapshot.
func read(c *console.Context, dir string, j *judge) (*reading, error) {
	logs, err := files(dir, "log")
	if err != nil {
		return nil, err
	}
	if len(logs) == 0 {
		return nil, errors.New("it has no transaction log, such as log.1 or version-2/log.100000001: name the server's dataDir or dataLogDir")
	}
	snapshots, err := files(dir, "snapshot")
	if err != nil {
		return nil, err
	}
	r, s := &reading{}, newServers(j)
	first, begun := logs[0].zxid, int64(0)
	if uint64(first)&(1<<32-1) > 1 || uint64(first)>>32 > 1 {
		i := slices.IndexFunc(snapshots, func(s numbered) bool { return uint64(s.zxid) >= uint64(first-1) })
		if i < 0 {
			r.cut = true
			r.notes = append(r.notes, fmt.Sprintf("unknown: the log begins at zxid %#x and no snapshot is as new: who held a lock then is not known", first))
		} else if err := s.load(snapshots[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(snapshots[i].name), err)
		} else {
			begun, s.begun = snapshots[i].zxid, true
		}
	}
	for _, file := range logs {
		if err := c.Err(); err != nil {
			return nil, console.ErrInterrupted
		}
		r.files++
		err := readLog(file.name, func(t *transaction) error { return r.replay(s, t, begun) })
		var missing errMissing
		switch base := filepath.Base(file.name); {
		case errors.As(err, &missing):
			r.cut = true
			r.notes = append(r.notes, fmt.Sprintf("unknown: %s: %v; what comes after was not judged", base, err))
			return r, nil
		case errors.Is(err, errTorn):
			r.notes = append(r.notes, fmt.Sprintf("%s: %v", base, err))
		case err != nil:
			return nil, fmt.Errorf("%s: %w", base, err)
		}
	}
	return r, nil
}

// errMissing says that a log has a gap.
type errMissing struct{ after, next int64 }

func (e errMissing) Error() string {
	return fmt.Sprintf("transactions are missing between zxid %#x and %#x", e.after, e.next)
}

func (r *reading) replay(s *servers, t *transaction, begun int64) error {
	j := s.judge
	switch last := cmp.Or(j.now.zxid, begun); {
	case uint64(t.zxid) <= uint64(last): // the snapshot has it, or a file before this one
		return nil
	case last != 0 && t.zxid != last+1 && (t.zxid>>32 == last>>32 || uint64(t.zxid)&(1<<32-1) != 1):
		return errMissing{last, t.zxid}
	}
	if r.n++; r.n == 1 {
		r.from = moment{t.zxid, t.time}
	}
	j.before(*t)
	j.now = moment{t.zxid, max(t.time, j.now.time)}
	return s.apply(t)
}

// load begins with the sessions and the ephemeral znodes of a snapshot.
func (s *servers) load(from numbered) error {
	s.judge.now.zxid = from.zxid
	return readSnapshot(from.name, s.open, func(name string, owner, czxid, ctime int64) {
		if uint64(czxid) <= uint64(from.zxid) {
			s.create(name, owner, moment{czxid, ctime})
		}
	})
}
