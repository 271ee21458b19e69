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
	"path"
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
		j.guarded[path.Clean(what)] = j.lock(lock)
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
	notes := slices.Concat(read.notes, j.notes())
	for _, note := range notes {
		fmt.Fprintln(c.Stdout, note)
	}
	verdict, exit := "ok", console.ExitOK
	switch {
	case len(found) > 0:
		verdict, exit = "violation", console.ExitViolation
	case slices.ContainsFunc(notes, func(note string) bool { return strings.HasPrefix(note, "unknown: ") }):
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
	notes []string // what is missing that the verdict depends on is unknown
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
	older := func(s numbered) bool { return s.zxid != 0 && uint64(s.zxid) < uint64(first) }
	if uint64(first)&(1<<32-1) > 1 || uint64(first)>>32 > 1 || slices.ContainsFunc(snapshots, older) {
		i := slices.IndexFunc(snapshots, func(s numbered) bool { return uint64(s.zxid) >= uint64(first-1) })
		if i < 0 {
			r.notes = append(r.notes, fmt.Sprintf("unknown: the log begins at zxid %#x and no snapshot is as new: who held a lock then is not known; "+
				"put the files of dataDir and of dataLogDir into one folder", first))
			return r, nil
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
		err := readLog(file.name, func(t *transaction) error { return r.replay(s, t, begun, snapshots) })
		switch base := filepath.Base(file.name); {
		case errors.Is(err, errTorn):
			r.notes = append(r.notes, fmt.Sprintf("%s: %v", base, err))
		case err != nil:
			r.notes = append(r.notes, fmt.Sprintf("unknown: %s: %v; what comes after was not judged", base, err))
			return r, nil
		}
	}
	return r, nil
}

// replay has a transaction happen, if it is the next. Before the first of an epoch there may have been others if the server
// got a snapshot instead of them.
func (r *reading) replay(s *servers, t *transaction, begun int64, snapshots []numbered) error {
	j := s.judge
	last := cmp.Or(j.now.zxid, begun)
	newer := func(s numbered) bool { return uint64(s.zxid) > uint64(last) && uint64(s.zxid) < uint64(t.zxid) }
	switch epoch := t.zxid>>32 != last>>32; {
	case uint64(t.zxid) <= uint64(last): // the snapshot has it, or a file before this one
		return nil
	case last != 0 && t.zxid != last+1 && (!epoch || uint64(t.zxid)&(1<<32-1) != 1 || slices.ContainsFunc(snapshots, newer)):
		return fmt.Errorf("transactions are missing between zxid %#x and %#x", last, t.zxid)
	}
	if r.n++; r.n == 1 {
		r.from = moment{t.zxid, t.time}
		j.begin(*t)
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
