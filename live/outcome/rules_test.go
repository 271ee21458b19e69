package outcome

import (
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// script writes down a round by hand: operations, requests through handles, and the last tree.
type script struct {
	ops []*world.Op
	Requests
}

func newScript() *script { return &script{Requests: Requests{tree: map[string]Znode{}}} }

// op begins an operation of a handle, with its outcome: ok with a result, or unknown.
func (s *script) op(handle int, name, arg string, outcome world.Outcome, result string) *script {
	op := &world.Op{Name: name, Arg: arg, Number: int64(len(s.ops) + 1), Outcome: outcome, Result: result}
	s.ops = append(s.ops, op)
	s.log = append(s.log, logEntry{handle: handle, began: op.Number})
	return s
}

func (s *script) offer(handle int, value string) *script {
	s.op(handle, "offer", value, world.OK, "")
	return s.create(handle, "/q/"+value, value, done)
}

func (s *script) poll(handle int) *script { return s.op(handle, "poll", "", world.Unknown, "") }

func (s *script) request(e logEntry) *script {
	s.log = append(s.log, e)
	return s
}

func (s *script) create(handle int, path, data string, a answer) *script {
	return s.request(logEntry{handle: handle, kind: requestCreate, path: path, data: data, answer: a,
		flags: zk.FlagSequence})
}

func (s *script) remove(handle int, path string, a answer) *script {
	return s.request(logEntry{handle: handle, kind: requestDelete, path: path, answer: a, version: -1})
}

func (s *script) read(handle int, path, data string) *script {
	return s.request(logEntry{handle: handle, kind: requestRead, path: path, data: data, answer: done, czxid: 5})
}

func (s *script) set(handle int, path, data string, version int32, a answer) *script {
	return s.request(logEntry{handle: handle, kind: requestSet, path: path, data: data, version: version, answer: a})
}

// together makes the last two requests one multi.
func (s *script) together() *script {
	n := len(s.log)
	s.log[n-1].bundle, s.log[n-2].bundle = n, n
	return s
}

func (s *script) left(path, data string, version int32) *script {
	s.tree[path] = Znode{data, zk.Stat{Czxid: 5, Version: version}}
	return s
}

// told prints a resolution: for each operation of unknown outcome "none", what it did, or "?".
func (s *script) told(found map[int64]workload.Resolved) string {
	var words []string
	for _, op := range s.ops {
		known, ok := found[op.Number]
		switch {
		case !undecided(op):
		case !ok:
			words = append(words, "?")
		case known.None:
			words = append(words, "none")
		default:
			words = append(words, "did "+known.Value)
		}
	}
	return strings.Join(words, ", ")
}

func TestResolveQueue(t *testing.T) {
	for _, c := range []struct {
		name string
		s    *script
		want string
	}{
		{"nothing sent", newScript().offer(1, "v").poll(2).left("/q/v", "v", 0), "none"},
		{"lost, still there", newScript().offer(1, "v").poll(2).remove(2, "/q/v", unanswered).left("/q/v", "v", 0),
			"none"},
		{"lost, gone", newScript().offer(1, "v").poll(2).remove(2, "/q/v", unanswered), "did v"},
		{"lost and repeated", newScript().offer(1, "v").poll(2).remove(2, "/q/v", unanswered).
			remove(2, "/q/v", refused), "did v"},
		{"answered, but given up", newScript().offer(1, "v").poll(2).remove(2, "/q/v", done), "did v"},
		{"refused, gone without anybody", newScript().offer(1, "v").poll(2).remove(2, "/q/v", refused), "?"},
		{"lost, but another's was answered", newScript().offer(1, "v").poll(2).remove(2, "/q/v", unanswered).
			op(1, "poll", "", world.OK, "v").remove(1, "/q/v", done), "none"},
		{"answered another who does not say so", newScript().offer(1, "v").poll(2).remove(2, "/q/v", unanswered).
			poll(1).remove(1, "/q/v", done), "none, did v"},
		{"lost twice, by two users", newScript().offer(1, "v").poll(2).remove(2, "/q/v", unanswered).poll(3).
			remove(3, "/q/v", unanswered), "?, ?"},
		{"two of one user", newScript().offer(1, "v").poll(2).poll(2).remove(2, "/q/v", unanswered), "?, did v"},
		{"between two of one user", newScript().offer(1, "v").poll(2).remove(2, "/q/v", unanswered).poll(2),
			"did v, none"},
		{"perhaps by one of outcome ok",
			newScript().offer(1, "v").poll(2).op(2, "poll", "", world.OK, "").remove(2, "/q/v", unanswered), "?"},
		{"asked for before", newScript().offer(1, "v").op(2, "poll", "", world.OK, "").remove(2, "/q/v", unanswered).
			poll(2), "?"},
		{"two items", newScript().offer(1, "v").offer(1, "w").poll(2).remove(2, "/q/v", unanswered).
			remove(2, "/q/w", unanswered), "?"},
		{"two items, one returned", newScript().offer(1, "v").offer(1, "w").poll(2).remove(2, "/q/v", unanswered).
			remove(2, "/q/w", unanswered).op(1, "poll", "", world.OK, "w"), "did v"},
		{"an item in two znodes", newScript().offer(1, "v").create(1, "/q/v2", "v", done).poll(2).left("/q/v", "v", 0),
			"?"},
		{"a name used again", newScript().offer(1, "v").op(1, "offer", "w", world.OK, "").create(1, "/q/v", "w", done).
			poll(2), "?"},
		{"an item that is written", newScript().offer(1, "v").poll(2).set(2, "/q/v", "taken", -1, unanswered).
			left("/q/v", "taken", 1), "?"},
		{"an item that is marked", newScript().offer(1, "v").poll(2).create(2, "/q/v-taken", "", unanswered).
			left("/q/v", "v", 0), "?"},
		{"something else there", newScript().offer(1, "v").poll(2).left("/q/v", "v", 0).left("/q/x", "", 0), "?"},
		{"something else deleted", newScript().offer(1, "v").poll(2).remove(2, "/q/x", unanswered).left("/q/v", "v", 0),
			"?"},
		{"an ephemeral item", newScript().op(1, "offer", "v", world.OK, "").
			request(logEntry{handle: 1, kind: requestCreate, path: "/q/v", data: "v", flags: 3, answer: done}).
			poll(2).left("/q/v", "v", 0), "?"},
		{"an item that expires", newScript().op(1, "offer", "v", world.OK, "").
			request(logEntry{handle: 1, kind: requestCreate, path: "/q/v", data: "v", expires: true, answer: done}).
			poll(2).left("/q/v", "v", 0), "?"},
		{"an item made by another", newScript().op(1, "offer", "v", world.OK, "").create(3, "/q/v", "v", done).poll(2).
			left("/q/v", "v", 0), "?"},
		{"deleted twice", newScript().offer(1, "v").poll(2).remove(2, "/q/v", done).remove(2, "/q/v", done), "?"},
		{"deleted and there", newScript().offer(1, "v").poll(2).remove(2, "/q/v", done).left("/q/v", "v", 0), "?"},
		{"returned, never offered", newScript().offer(1, "v").op(1, "poll", "", world.OK, "x").poll(2).
			left("/q/v", "v", 0), "?"},
		{"named another", newScript().offer(1, "v").op(2, "poll", "", world.Unknown, "w").remove(2, "/q/v", unanswered),
			"?"},
		{"named that", newScript().offer(1, "v").op(2, "poll", "", world.Unknown, "v").remove(2, "/q/v", unanswered),
			"did v"},
		{"with a note", newScript().offer(1, "v").poll(2).
			request(logEntry{handle: 2, kind: requestCreate, path: "/q/n", flags: 1, answer: done}).
			set(2, "/q/n", "id", -1, unanswered).remove(2, "/q/v", unanswered).together(), "did v"},
		{"with a note that stays", newScript().offer(1, "v").poll(2).
			request(logEntry{handle: 2, kind: requestCreate, path: "/q/n", answer: done}).
			set(2, "/q/n", "id", -1, unanswered).remove(2, "/q/v", unanswered).together(), "?"},
		{"with a note by itself", newScript().offer(1, "v").poll(2).set(2, "/q/n", "id", -1, unanswered).
			left("/q/v", "v", 0), "?"},
		{"with a note that is also written by itself", newScript().offer(1, "v").poll(2).set(2, "/q/n", "id", -1, done).
			remove(2, "/q/v", done).together().poll(2).set(2, "/q/n", "id", -1, unanswered), "?, ?"},
		{"notes of nothing", newScript().offer(1, "v").poll(2).set(2, "/q/n", "id", -1, unanswered).
			set(2, "/q/m", "id", -1, unanswered).together().left("/q/v", "v", 0), "?"},
		{"a mark at the directory", newScript().create(1, "/q", "a mark", done).offer(1, "v").poll(2).
			left("/q/v", "v", 0), "?"},
		{"the directory made", newScript().create(1, "/q", "", unanswered).offer(1, "v").poll(2).left("/q/v", "v", 0).
			left("/q", "", 0), "none"},
		{"an item made before its offer",
			newScript().create(1, "/q/v", "v", done).op(1, "offer", "v", world.OK, "").poll(2).left("/q/v", "v", 0), "?"},
		{"an item made by nobody", newScript().op(1, "offer", "v", world.OK, "").poll(2).left("/q/v", "v", 0), "?"},
		{"an item read in two znodes", newScript().op(1, "offer", "v", world.OK, "").create(1, "/q/v-", "v", unanswered).
			poll(2).read(2, "/q/v-1", "v").read(2, "/q/v-2", "v").
			remove(2, "/q/v-1", unanswered).remove(2, "/q/v-2", unanswered), "?"},
		{"an item read twice in one place",
			newScript().offer(1, "v").poll(2).read(2, "/q/v", "v").
				request(logEntry{handle: 2, kind: requestRead, path: "/q/v", data: "v", answer: done, czxid: 9}).
				remove(2, "/q/v", unanswered), "?"},
		{"returned, deleted by nobody", newScript().offer(1, "v").op(1, "poll", "", world.OK, "v").poll(2), "?"},
		{"an item made twice in one place",
			newScript().offer(1, "v").create(1, "/q/v", "v", done).poll(2).left("/q/v", "v", 0), "?"},
		{"a name used again, and there", newScript().offer(1, "v").op(1, "offer", "w", world.OK, "").
			create(1, "/q/v", "w", done).poll(2).left("/q/v", "w", 0), "?"},
		{"values within values", newScript().offer(1, "v1").offer(1, "v12").poll(2).remove(2, "/q/v12", unanswered).
			left("/q/v1", "v1", 0), "did v12"},
		{"values that cannot be told apart", newScript().op(1, "offer", "v1", world.OK, "").
			op(1, "offer", "v12", world.OK, "").create(1, "/q/a", "<v12>", done).poll(2).left("/q/a", "<v12>", 0), "?"},
		{"not all logged", newScript().offer(1, "v").poll(2).poll(0).left("/q/v", "v", 0).forget(3), "?, ?"},

		{"an offer that sent nothing", newScript().op(1, "offer", "v", world.Unknown, ""), "none"},
		{"an offer that was lost, not there",
			newScript().op(1, "offer", "v", world.Unknown, "").create(1, "/q/v-", "v", unanswered), "none"},
		{"an offer that was lost, there", newScript().op(1, "offer", "v", world.Unknown, "").
			create(1, "/q/v-", "v", unanswered).left("/q/v-7", "v", 0), "did "},
		{"an offer that was lost, seen, and removed",
			newScript().op(1, "offer", "v", world.Unknown, "").create(1, "/q/v-", "v", unanswered).poll(2).
				read(2, "/q/v-7", "v").remove(2, "/q/v-7", unanswered), "did , did v"},
		{"an offer that was lost, and peeked at", newScript().op(1, "offer", "v", world.Unknown, "").
			create(1, "/q/v-", "v", unanswered).op(2, "peek", "", world.OK, "v"), "?"},
		{"an offer that was lost, and polled unseen", newScript().op(1, "offer", "v", world.Unknown, "").
			create(1, "/q/v-", "v", unanswered).op(2, "poll", "", world.OK, "v"), "?"},
	} {
		if got := c.s.told(resolveQueue("/q", c.s.ops, &c.s.Requests)); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}

// forget takes the beginning of an operation out of the log.
func (s *script) forget(number int64) *script {
	s.log = slices.DeleteFunc(s.log, func(e logEntry) bool { return e.began == number })
	return s
}

func (s *script) add(handle int, delta string, outcome world.Outcome, sum string) *script {
	return s.op(handle, "add", delta, outcome, sum)
}

func (s *script) number(handle int, sum string, version int32, a answer) *script {
	if version < 0 {
		return s.request(logEntry{handle: handle, kind: requestCreate, path: "/c/value", data: sum, answer: a})
	}
	return s.set(handle, "/c/value", sum, version, a)
}

// one is a counter to which a client has added 1.
func one() *script { return newScript().add(1, "1", world.OK, "1").number(1, "1", -1, done) }

func TestResolveCounter(t *testing.T) {
	const value = "/c/value"
	for _, c := range []struct {
		name string
		s    *script
		want string
	}{
		{"nothing sent", one().add(2, "1", world.Unknown, "").left(value, "1", 0), "none"},
		{"lost, not written", one().add(2, "1", world.Unknown, "").number(2, "2", 0, unanswered).left(value, "1", 0),
			"none"},
		{"lost, written", one().add(2, "1", world.Unknown, "").number(2, "2", 0, unanswered).left(value, "2", 1),
			"did 2"},
		{"lost, another wrote", one().add(2, "1", world.Unknown, "").number(2, "2", 0, unanswered).
			add(1, "1", world.OK, "2").number(1, "2", 0, done).left(value, "2", 1), "none"},
		{"lost, the other read", one().add(2, "1", world.Unknown, "").number(2, "2", 0, unanswered).
			add(3, "5", world.Unknown, "").number(3, "6", 0, unanswered).left(value, "6", 1), "none, did 6"},
		{"lost, both may be", one().add(2, "1", world.Unknown, "").number(2, "2", 0, unanswered).
			add(3, "1", world.Unknown, "").number(3, "2", 0, unanswered).left(value, "2", 1), "?, ?"},
		{"the first", newScript().add(2, "1", world.Unknown, "").number(2, "1", -1, unanswered).left(value, "1", 0),
			"did 1"},
		{"the first, not written", newScript().add(2, "1", world.Unknown, "").number(2, "1", -1, unanswered), "none"},
		{"two of one user", one().add(2, "1", world.Unknown, "").add(2, "1", world.Unknown, "").
			number(2, "2", 0, unanswered).left(value, "2", 1), "?, did 2"},
		{"two of one user, with different numbers", one().add(2, "7", world.Unknown, "").add(2, "1", world.Unknown, "").
			number(2, "2", 0, unanswered).left(value, "2", 1), "none, did 2"},
		{"written twice", one().add(2, "1", world.Unknown, "").number(2, "2", 0, unanswered).
			number(2, "3", 1, unanswered).left(value, "3", 2), "?"},
		{"added by another's write", one().add(2, "1", world.Unknown, "").add(2, "1", world.OK, "3").
			number(2, "3", 0, done).left(value, "3", 1), "?"},
		{"without a condition", one().add(2, "1", world.Unknown, "").number(2, "2", 0, unanswered).
			set(3, value, "9", -1, unanswered).left(value, "1", 0), "?"},
		{"in two places", one().add(2, "1", world.Unknown, "").set(2, "/c/other", "2", 0, unanswered).left(value, "1", 0),
			"?"},
		{"deleted", one().add(2, "1", world.Unknown, "").remove(2, value, unanswered).left(value, "1", 0), "?"},
		{"ephemeral", newScript().add(2, "1", world.Unknown, "").
			request(logEntry{handle: 2, kind: requestCreate, path: value, data: "1", flags: 1}), "?"},
		{"something else there", one().add(2, "1", world.Unknown, "").left(value, "1", 0).left("/c/x", "", 0), "?"},
		{"written by nobody", one().add(2, "1", world.Unknown, "").left(value, "5", 1), "?"},
		{"not what was written", one().add(2, "1", world.Unknown, "").number(2, "2", 0, done).left(value, "5", 1), "?"},
		{"written, and not there", one().add(2, "1", world.Unknown, "").number(2, "2", 0, done).left(value, "1", 0), "?"},
		{"read as two", one().add(2, "1", world.Unknown, "").read(3, value, "1").read(3, value, "4").left(value, "1", 0),
			"?"},
		{"returned, never written", one().add(1, "1", world.OK, "2").add(2, "1", world.Unknown, "").left(value, "1", 0),
			"?"},
		{"the sum was named", one().add(2, "1", world.Unknown, "2").number(2, "2", 0, unanswered).left(value, "2", 1),
			"did 2"},
		{"another sum was named", one().add(2, "1", world.Unknown, "9").number(2, "2", 0, unanswered).left(value, "2", 1),
			"?"},
		{"returned twice, written once", newScript().add(2, "1", world.OK, "1").add(2, "1", world.OK, "1").
			number(2, "1", -1, done).add(3, "1", world.Unknown, "").left(value, "1", 0), "?"},
		{"written before it was asked for", newScript().number(2, "1", -1, done).add(2, "1", world.OK, "1").
			add(3, "1", world.Unknown, "").left(value, "1", 0), "?"},
		{"returned another sum", newScript().add(1, "1", world.OK, "7").number(1, "1", -1, done).
			add(2, "1", world.Unknown, "").left(value, "1", 0), "?"},
		{"with a note", one().add(2, "1", world.Unknown, "").set(2, "/c/n", "id", -1, unanswered).
			number(2, "2", 0, unanswered).together().left(value, "2", 1), "did 2"},
		{"with a note by itself", one().add(2, "1", world.Unknown, "").set(2, "/c/n", "id", -1, unanswered).
			left(value, "1", 0), "?"},
		{"in the directory itself", newScript().add(2, "1", world.Unknown, "").set(2, "/c", "1", 0, unanswered).
			left("/c", "1", 1), "did 1"},
		{"in the directory itself, not written",
			newScript().add(2, "1", world.Unknown, "").set(2, "/c", "1", 0, unanswered).left("/c", "", 0), "none"},
	} {
		if got := c.s.told(resolveCounter("/c", c.s.ops, &c.s.Requests)); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}

// TestAnswers: only what is known to be an answer is one. To take a lost reply for a refusal makes
// a resolution where there is none.
func TestAnswers(t *testing.T) {
	for err, want := range map[error]answer{
		nil: done, zk.ErrNoNode: refused, zk.ErrNodeExists: refused, zk.ErrBadVersion: refused, zk.ErrNotEmpty: refused,
		zk.ErrConnectionClosed: unanswered, zk.ErrSessionExpired: unanswered, zk.ErrNoServer: unanswered,
		zk.ErrClosing:      unanswered,
		zk.ErrSessionMoved: unanswered, net.ErrClosed: unanswered, io.EOF: unanswered,
		os.ErrDeadlineExceeded: unanswered,
	} {
		if got := answerOf(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
