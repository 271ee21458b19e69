package postmortem

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/recipes/zkclient"
)

func TestMain(m *testing.M) { ensembletest.Main(m) }

// writer writes logs as ZooKeeper does: each into a file of its own from roll on.
type writer struct {
	dir        string
	file       bytes.Buffer
	first      int64
	zxid, time int64
}

func newWriter(dir string) *writer { return &writer{dir: dir, time: 1_800_000_000_000} }

func (w *writer) append(session int64, op wire.Op, body ...any) int64 {
	if w.zxid++; w.file.Len() == 0 {
		w.first = w.zxid
		w.file.Write(jute(uint32(logMagic), int32(2), int64(0)))
	}
	w.time += 10
	t := jute(append([]any{session, int32(0), w.zxid, w.time, op}, body...)...)
	w.file.Write(jute(uint64(adler32.Checksum(t)), t))
	w.file.WriteByte('B')
	return w.zxid
}

// jute writes values as ZooKeeper does.
func jute(values ...any) (b []byte) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		case []byte:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		case bool:
			b = append(b, map[bool]byte{true: 1}[v])
		default:
			b, _ = binary.Append(b, binary.BigEndian, v)
		}
	}
	return b
}

func (w *writer) create(session int64, path string, ephemeral bool) int64 {
	return w.append(session, wire.OpCreate2, path, "data", int32(1), int32(31), "world", "anyone", ephemeral, int32(1))
}

func (w *writer) roll() {
	if w.file.Len() > 0 {
		w.file.Write(make([]byte, 100)) // as files are filled up
		name := filepath.Join(w.dir, fmt.Sprintf("log.%x", w.first))
		if err := os.WriteFile(name, w.file.Bytes(), 0o644); err != nil {
			panic(err)
		}
		w.file.Reset()
	}
}

// checked is what torture check --txnlog prints of a folder, and its status.
func checked(t interface{ Context() context.Context }, by cli.TxnLog, claims string) (string, int) {
	var out, errs bytes.Buffer
	c := &console.Context{Context: t.Context(), Streams: console.Streams{Stdout: &out, Stderr: &errs}}
	err := check(c, by, strings.NewReader(claims))
	status := console.Status(c.Streams, err)
	return out.String() + errs.String(), status
}

// A lock's users take turns, sessions end, some clients are told late; whoever holds the lock writes. Nobody is accused.
// One claim or one write of somebody else is found, with both sessions and the zxids.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "postmortem")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		w := newWriter(dir)
		var claims strings.Builder
		claim := func(session, from, to int64) {
			fmt.Fprintf(&claims, `{"lock":"/locks/a","session":"%#x","from":"%#x","to":"%#x"}`+"\n", session, from, to)
		}
		w.create(0x100, "/locks/a", false)
		type waiter struct {
			session, since int64
			path           string
		}
		var queue []waiter
		alive := map[int64]bool{}
		next, seq := int64(0x100), 0
		gone := func(i int, z int64) { // the waiter i went at z
			if i == 0 && len(queue) > 1 {
				queue[1].since = z
			}
			queue = append(queue[:i:i], queue[i+1:]...)
		}
		planted := rapid.SampledFrom([]string{"", "claim", "write"}).Draw(t, "planted")
		var want []string
		for i := range rapid.IntRange(5, 60).Draw(t, "steps") {
			switch min(i, 1) * rapid.IntRange(0, 7).Draw(t, "step") {
			case 0:
				next++
				w.append(next, wire.OpCreateSession, int32(4000))
				alive[next] = true
				z := w.create(next, fmt.Sprintf("/locks/a/x-%010d", seq), true)
				seq++
				queue = append(queue, waiter{next, z, fmt.Sprintf("/locks/a/x-%010d", seq-1)})
			case 1, 2: // the holder gives it back
				if len(queue) > 0 {
					q := queue[0]
					z := w.append(q.session, wire.OpDelete, q.path)
					claim(q.session, q.since, z)
					gone(0, z)
				}
			case 3: // a session ends; its client may be told later
				if len(queue) > 0 {
					i := rapid.IntRange(0, len(queue)-1).Draw(t, "who")
					q := queue[i]
					z := w.append(q.session, wire.OpCloseSession, int32(1), q.path)
					if i == 0 {
						claim(q.session, q.since, z+rapid.Int64Range(0, 9).Draw(t, "late"))
					}
					delete(alive, q.session)
					gone(i, z)
				}
			case 4:
				w.append(next, wire.OpSetData, "/other", "x", int32(1))
			case 5: // the holder writes, within a transaction
				if len(queue) > 0 {
					w.append(queue[0].session, wire.OpMulti, int32(1), wire.OpSetData, jute("/data", "x", int32(1)))
				}
			case 6:
				w.roll()
			case 7:
				if len(queue) < 2 || len(want) > 0 {
					break
				}
				holder, other := queue[0], queue[1]
				switch planted {
				case "claim":
					z := w.append(next, wire.OpSetData, "/other", "x", int32(1))
					claim(other.session, z-1, z)
					want = append(want, "two holders: /locks/a", fmt.Sprintf("session %#x, which says", other.session),
						fmt.Sprintf("session %#x", holder.session), fmt.Sprintf("from zxid %#x", z-1))
				case "write":
					z := w.append(other.session, wire.OpSetData, "/data/below", "x", int32(1))
					want = append(want, "changed by another", fmt.Sprintf("session %#x changed /data/below at zxid %#x", other.session, z),
						fmt.Sprintf("session %#x, whose znode %s", holder.session, filepath.Base(holder.path)))
				}
			}
		}
		w.append(next, wire.OpSetData, "/other", "x", int32(1))
		w.roll()
		out, status := checked(t, cli.TxnLog{Dir: dir, Guards: []string{"/data=/locks/a", "/locks=/locks/a"}}, claims.String())
		if got := strings.Count(out, "violation: "); len(want) == 0 && status != console.ExitOK || len(want) > 0 && (got != 2 || status != console.ExitViolation) {
			t.Fatalf("status %d, wanted %q:\n%s", status, want, out)
		}
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Fatalf("it does not say %q:\n%s", text, out)
			}
		}
	})
}

// Of what a log does not have nobody is accused: it begins late, a server got a snapshot in place of some transactions.
func TestAccusesNobody(t *testing.T) {
	const data = "/data=/l/"
	begin := func(w *writer, zxid, session int64) { // with a session that is the first of the lock
		w.zxid = zxid
		if err := os.WriteFile(filepath.Join(w.dir, fmt.Sprintf("snapshot.%x", zxid)), snapshot(session, zxid), 0o644); err != nil {
			panic(err)
		}
	}
	write := func(w *writer, session int64) { w.append(session, wire.OpSetData, "/data", "x", int32(1)) }
	for name, of := range map[string]struct {
		log          func(w *writer)
		claims, want string
		status       int
	}{
		"held before the log": {func(w *writer) {
			begin(w, 5, 7)
			write(w, 7)
			write(w, 7)
		}, `{"lock":"/l","session":7,"from":5}` + "\n" + `{"lock":"/l","session":7,"from":2,"to":3}` + "\n" + `{"lock":"/l","session":8,"from":3,"to":4}`,
			"2 holds ended before the beginning", console.ExitOK},
		"somebody writes": {func(w *writer) { begin(w, 5, 7); write(w, 8) }, "", "changed by another", console.ExitViolation},
		"no snapshot": {func(w *writer) {
			w.zxid = 5
			w.create(8, "/l/x-0000000002", true)
			write(w, 7) // which has had the first since before the log
			w.append(7, wire.OpDelete, "/l/x-0000000001")
		}, "", "no snapshot is as new", console.ExitUnknown},
		"an older log is gone": {func(w *writer) {
			begin(w, 5, 7)
			w.zxid = 1 << 32
			w.create(8, "/l/x-0000000002", true)
			write(w, 7)
		}, "", "no snapshot is as new", console.ExitUnknown},
		"a snapshot between epochs": {func(w *writer) {
			w.create(7, "/l/x-0000000001", true)
			w.roll()
			begin(w, 5, 8) // who has it now
			w.zxid = 1 << 32
			write(w, 8)
		}, "", "missing between zxid 0x1 and 0x100000001", console.ExitUnknown},
		"given back and written": {func(w *writer) {
			w.create(7, "/l/x-0000000001", true)
			w.create(8, "/l/x-0000000002", true)
			w.append(7, wire.OpMulti, int32(2), wire.OpDelete, jute("/l/x-0000000001"), wire.OpSetData, jute("/data", "x", int32(1)))
			write(w, 8)
		}, "", "ok: 4 transactions", console.ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWriter(t.TempDir())
			of.log(w)
			w.roll()
			out, status := checked(t, cli.TxnLog{Dir: w.dir, Guards: []string{data}}, of.claims)
			if status != of.status || !strings.Contains(out, of.want) {
				t.Errorf("status %d, not %d with %q:\n%s", status, of.status, of.want, out)
			}
		})
	}
}

// A server's own log and snapshot are read: who held the lock, and who wrote although another did.
func TestServersOwn(t *testing.T) {
	t.Parallel()
	e := ensembletest.Start(t, 1)
	connect := func() *zkclient.Client {
		return ensembletest.Connect(t, zkclient.Config{Servers: e.ConnectString(), SessionTimeout: 20 * time.Second})
	}
	a, b := connect(), connect()
	made := func(c *zkclient.Client, path string, flags int32) string {
		path, err := c.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{"/lock", "/data"} {
		made(a, path, 0)
	}
	turn := func(c *zkclient.Client) { // takes the lock, writes and gives it back, while another writes, too
		z := made(c, "/lock/x-", zk.FlagEphemeral|zk.FlagSequence)
		for _, each := range []*zkclient.Client{c, b} {
			if _, err := each.Set("/data", nil, -1); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Delete(z, -1); err != nil {
			t.Fatal(err)
		}
	}
	turn(b)
	turn(a)
	held := made(a, "/lock/x-", zk.FlagEphemeral|zk.FlagSequence)
	if err := e.Member(0).Kill(); err != nil {
		t.Fatal(err)
	}
	if err := e.Member(0).Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Set("/data", nil, -1); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(held, -1); err != nil {
		t.Fatal(err)
	}
	turn(a)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(logsOf(t, e))); err != nil {
		t.Fatal(err)
	}
	guards := cli.TxnLog{Dir: dir, Guards: []string{"/data=/lock"}}
	out, status := checked(t, guards, "")
	if status != console.ExitViolation || strings.Count(out, "changed by another") != 3 || !strings.Contains(out, "of 2 files") {
		t.Errorf("status %d:\n%s", status, out)
	}
	if err := os.Remove(filepath.Join(dir, "log.1")); err != nil {
		t.Fatal(err)
	}
	after, status := checked(t, guards, "")
	if status != console.ExitViolation || strings.Count(after, "changed by another") != 2 || !strings.Contains(after, filepath.Base(held)) {
		t.Errorf("status %d, by the snapshot:\n%s\nby the whole log:\n%s", status, after, out)
	}
}

// logsOf is the folder of the transaction log of the only member.
func logsOf(t *testing.T, e *ensemble.Ensemble) string {
	found, err := filepath.Glob(filepath.Join(e.Dir(), "*", "*", "version-2"))
	if err != nil || len(found) == 0 {
		found, err = filepath.Glob(filepath.Join(e.Dir(), "*", "version-2"))
	}
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0]
}

// What cannot be judged, or read, is said.
func TestBad(t *testing.T) {
	const good = `{"lock":"/l","session":"0x1","from":2,"to":4}` + "\n"
	for name, of := range map[string]struct {
		change func(dir string) // the logs 1, 4 and 7, of three transactions each
		claims string
		want   string
		status int
	}{
		"ok":            {claims: good, want: "ok: 9 transactions of 3 files, zxid 0x1 (2027-", status: console.ExitOK},
		"no lock":       {want: "unknown: nothing was judged", status: console.ExitUnknown},
		"no log":        {change: func(dir string) { removed(dir, "log.1", "log.4", "log.7") }, want: "no transaction log", status: console.ExitUnknown},
		"no beginning":  {change: func(dir string) { removed(dir, "log.1") }, claims: good, want: "no snapshot is as new", status: console.ExitUnknown},
		"gap":           {change: func(dir string) { removed(dir, "log.4") }, claims: good, want: "missing between zxid 0x3 and 0x7", status: console.ExitUnknown},
		"damaged":       {change: func(dir string) { damaged(dir, 60) }, claims: good, want: "another checksum", status: console.ExitUnknown},
		"no log at all": {change: func(dir string) { damaged(dir, 0) }, claims: good, want: "not a transaction log", status: console.ExitUnknown},
		"killed":        {change: func(dir string) { torn(dir) }, claims: good, want: "ends within a transaction", status: console.ExitOK},
		"stranger":      {claims: good + `{"lock":"/l","session":"0x99","from":2,"to":4}`, want: "1 holds are of sessions that the log does not have, such as 0x99 (line 2)", status: console.ExitUnknown},
		"late":          {claims: good + `{"lock":"/l","session":1,"from":20}`, want: "1 holds begin after the end", status: console.ExitOK},
		"short":         {claims: `{"lock":"/l","session":1,"from":"2027-01-15T08:00:00Z","to":"2027-01-15T08:00:01Z"}`, want: "none of the holds", status: console.ExitUnknown},
		"milliseconds":  {claims: `{"lock":"/l","session":1,"from":1800000000000,"to":1800000009000}`, want: "none of the holds", status: console.ExitUnknown},
		"no such lock":  {claims: `{"lock":"/m","session":99,"from":2,"to":4}`, want: "no ephemeral znode of /m", status: console.ExitUnknown},
		"end damaged":   {change: func(dir string) { damaged(dir, 16+12+28+4+4) }, claims: good, want: "log.4: the record after zxid 0x0 has another checksum: the file is damaged; what comes after", status: console.ExitUnknown},
		"damaged late": {change: func(dir string) { edited(filepath.Join(dir, "log.7"), func(b []byte) []byte { b[60]++; return b }) },
			claims: good + `{"lock":"/l","session":"0x2","from":4,"to":6}`, want: "violation: two holders: /l", status: console.ExitViolation},
		"begun":          {change: func(dir string) { edited(filepath.Join(dir, "log.7"), func([]byte) []byte { return nil }) }, claims: good, want: "log.7: the file ends", status: console.ExitOK},
		"no JSON":        {claims: "x", want: "line 1: it is no hold", status: console.ExitUnknown},
		"two in a line":  {claims: strings.TrimSpace(good) + good, want: "line 1: there is more after the hold", status: console.ExitUnknown},
		"no session":     {claims: good + `{"lock":"/l","from":1}`, want: `line 2: "session" is missing`, status: console.ExitUnknown},
		"mixed":          {claims: good + `{"lock":"/l","session":1,"from":"2027-01-15T08:00:00Z"}`, want: "line 2: lines before it have zxids", status: console.ExitUnknown},
		"backwards":      {claims: `{"lock":"/l","session":1,"from":3,"to":2}`, want: `"to" is before "from"`, status: console.ExitUnknown},
		"no such moment": {claims: `{"lock":"/l","session":1,"from":"soon"}`, want: `"soon" is no zxid`, status: console.ExitUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWriter(t.TempDir())
			for range 3 {
				w.append(1+w.zxid/3, wire.OpCreateSession, int32(4000))
				w.create(1, "/l/x-0000000001", true)
				w.append(1, wire.OpDelete, "/l/x-0000000001")
				w.roll()
			}
			if of.change != nil {
				of.change(w.dir)
			}
			out, status := checked(t, cli.TxnLog{Dir: w.dir, Clocks: time.Second}, of.claims)
			if status != of.status || !strings.Contains(out, of.want) {
				t.Errorf("status %d, not %d with %q:\n%s", status, of.status, of.want, out)
			}
		})
	}
}

func removed(dir string, names ...string) {
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			panic(err)
		}
	}
}

// damaged changes a byte of the second log.
func damaged(dir string, at int) {
	edited(filepath.Join(dir, "log.4"), func(b []byte) []byte { b[at]++; return b })
}

// torn cuts the last log off within its last transaction.
func torn(dir string) {
	edited(filepath.Join(dir, "log.7"), func(b []byte) []byte { return b[:len(b)-110] })
}

func edited(name string, by func([]byte) []byte) {
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, by(b), 0o644)
	}
	if err != nil {
		panic(err)
	}
}

// long is how many transactions TestLong writes; ZKTORTURE_TRANSACTIONS says another number.
const long = 300_000

// In a long log, of a thousand locks that are taken and given back by sessions that come and go, with other znodes between
// them, the one double holder is named.
func TestLong(t *testing.T) {
	n := long
	if text := os.Getenv("ZKTORTURE_TRANSACTIONS"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	w := newWriter(t.TempDir())
	const locks = 1000
	var held [locks]struct {
		session, since int64
		path           string
	}
	claims := &strings.Builder{}
	claim := func(k int, session, from, to int64) {
		fmt.Fprintf(claims, `{"lock":"/locks/%d","session":%d,"from":%d,"to":%d}`+"\n", k, session, from, to)
	}
	planted := ""
	for i := 0; w.zxid < int64(n); i++ {
		k, session := i%locks, int64(i+1)
		if h := held[k]; h.session != 0 {
			w.append(h.session, wire.OpDelete, h.path)
			if i%97 == 0 {
				claim(k, h.session, h.since, w.zxid)
			}
			w.append(h.session, wire.OpCloseSession, int32(0))
		}
		w.append(session, wire.OpCreateSession, int32(4000))
		h := &held[k]
		h.session, h.path = session, fmt.Sprintf("/locks/%d/lock-%010d", k, i/locks)
		h.since = w.create(session, h.path, true)
		w.append(session, wire.OpSetData, fmt.Sprintf("/data/%d", k), "a value of some length", int32(i))
		if planted == "" && w.zxid > int64(n)/2 {
			other := (k + locks/2) % locks // whose holder says that it holds this one, too
			z := w.append(session, wire.OpSetData, "/other", "", int32(1))
			claim(k, held[other].session, z-1, z)
			planted = fmt.Sprintf("two holders: /locks/%d was held by two sessions that were alive, from zxid %#x ", k, z-1)
		}
		if w.file.Len() > 64<<20 {
			w.roll()
		}
	}
	w.roll()
	began := time.Now()
	out, status := checked(t, cli.TxnLog{Dir: w.dir, Lock: []string{"/locks/*"}}, claims.String())
	if status != console.ExitViolation || !strings.Contains(out, planted) || strings.Count(out, "violation: ") != 2 {
		t.Errorf("status %d, without %q:\n%s", status, planted, out)
	}
	t.Logf("in %v: %s", time.Since(began), out)
}
