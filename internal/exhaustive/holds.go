package exhaustive

import (
	"cmp"
	"slices"
	"strings"

	lin "github.com/zktorture/zktorture/linearizability"
)

// tenancy is the holders of a lock, an office or permits, and the greatest tokens granted so far.
type tenancy struct {
	held    string // a byte for each grant that is still held: its place in order of call
	shared  string // the downgraded among them
	token   token  // greatest of any holder
	written token  // greatest of any holder but readers
}

// token is a number that may not have been given.
type token struct {
	given  bool
	number int64
}

// holds are the operations on a lock, an office or permits, in order of call, then of the history.
type holds struct {
	model   string
	permits int
	ops     lin.History
}

func newHolds(model string, permits int, h lin.History) *holds {
	words := map[string]string{"elected": "acquire", "resigned": "release"}
	ops := slices.Clone(h)
	for i := range ops {
		ops[i].Op = cmp.Or(words[ops[i].Op], ops[i].Op)
	}
	ops = slices.DeleteFunc(ops, func(op lin.Operation) bool { return op.Outcome == lin.Fail || refused(op) })
	slices.SortStableFunc(ops, func(a, b lin.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return &holds{model, permits, ops}
}

// refused tells whether the operation is a try that was not granted, which is always legal.
func refused(op lin.Operation) bool {
	no := []lin.Value{lin.Null, lin.Bool(false), lin.Int(0)}
	return strings.HasSuffix(op.Op, "try") && op.Outcome == lin.OK && slices.Contains(no, op.Result)
}

func (h *holds) events() (events []event[tenancy]) {
	if len(h.ops) > eventsMax {
		return make([]event[tenancy], eventsMax+1)
	}
	for i, op := range h.ops {
		events = append(events, newEvent(op, func(t tenancy) (tenancy, bool) {
			switch {
			case releases(op):
				return h.release(t, i)
			case op.Op == "downgrade":
				return h.downgrade(t, i)
			}
			return h.grant(t, i)
		}))
	}
	return events
}

func releases(op lin.Operation) bool { return strings.HasSuffix(op.Op, "release") }
func grants(op lin.Operation) bool   { return !releases(op) && op.Op != "downgrade" }
func reads(op lin.Operation) bool {
	return strings.HasPrefix(op.Op, "r") && op.Op != "release" && op.Op != "resigned"
}

func takes(op lin.Operation) int {
	if op.Arg.IsNull() {
		return 1
	}
	return int(op.Arg.Int())
}

// grant succeeds if there is room, with a token greater than those that it must exceed.
func (h *holds) grant(t tenancy, i int) (tenancy, bool) {
	op := h.ops[i]
	if !h.room(t, op) {
		return t, false
	}
	t.held = sorted(t.held + string([]byte{byte(i)}))
	if !op.Result.IsInt() || strings.HasSuffix(op.Op, "try") && op.Result == lin.Int(0) {
		return t, true // without a token
	}
	now, least := token{true, op.Result.Int()}, t.token
	if reads(op) {
		least = t.written
	}
	if least.given && now.number <= least.number {
		return t, false
	}
	if !t.token.given || now.number > t.token.number {
		t.token = now
	}
	if !reads(op) {
		t.written = now
	}
	return t, true
}

func sorted(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

// room: a semaphore has its permits; readers share; any other holder is exclusive.
func (h *holds) room(t tenancy, op lin.Operation) bool {
	switch h.model {
	case "semaphore":
		sum := takes(op)
		for _, g := range []byte(t.held) {
			sum += takes(h.ops[g])
		}
		return sum <= h.permits
	case "rwlock":
		return t.held == "" || reads(op) && !slices.ContainsFunc([]byte(t.held),
			func(g byte) bool { return !h.shares(t, g) })
	}
	return t.held == ""
}

// shares tells whether the hold of grant g is now a reader's.
func (h *holds) shares(t tenancy, g byte) bool {
	return reads(h.ops[g]) || strings.IndexByte(t.shared, g) >= 0
}

// of returns the grant whose hold operation i ends or changes, as a reader or not: the last grant of outcome ok to
// i's process before i, or one of unknown outcome since then.
func (h *holds) of(t tenancy, i int, asReader bool) (byte, bool) {
	op := h.ops[i]
	for _, g := range []byte(t.held) {
		grant := h.ops[g]
		like := owner(grant) == owner(op) && takes(grant) == takes(op)
		if int(g) < i && like && h.heldAs(t, g, i, asReader) && !h.grantedAgain(g, i, asReader) {
			return g, true
		}
	}
	return 0, false
}

// heldAs tells whether operation i may concern the hold of grant g, as a reader's or as a writer's. After a downgrade
// of outcome ok it is a reader's; after one of unknown outcome either kind of release ends it.
func (h *holds) heldAs(t tenancy, g byte, i int, asReader bool) bool {
	after := func(known bool) bool {
		return slices.ContainsFunc(h.ops[int(g)+1:i], func(op lin.Operation) bool {
			return op.Op == "downgrade" && owner(op) == owner(h.ops[g]) && (op.Outcome == lin.OK || !known)
		})
	}
	switch {
	case reads(h.ops[g]):
		return asReader
	case asReader:
		return h.shares(t, g) && after(false)
	}
	return !h.shares(t, g) || !after(true)
}

// grantedAgain tells whether the process was surely granted the like of g between g and i, as a reader or not. A
// downgrade of outcome ok counts as a grant to a reader.
func (h *holds) grantedAgain(g byte, i int, asReader bool) bool {
	for k := h.since(g, i, asReader) + 1; k < i; k++ {
		op := h.ops[k]
		if op.Outcome != lin.OK || owner(op) != owner(h.ops[g]) || takes(op) != takes(h.ops[g]) {
			continue
		}
		if grants(op) && reads(op) == asReader {
			return true
		}
		if op.Op == "downgrade" && asReader && (reads(h.ops[g]) || h.grantedAgain(g, k, false)) {
			return true
		}
	}
	return false
}

// since is the operation that gave grant g's hold its present mode: the grant itself, or its last downgrade.
func (h *holds) since(g byte, i int, asReader bool) int {
	at := int(g)
	for k := at + 1; k < i && asReader && !reads(h.ops[g]); k++ {
		if op := h.ops[k]; op.Op == "downgrade" && owner(op) == owner(h.ops[g]) && !h.grantedAgain(g, k, false) {
			at = k
		}
	}
	return at
}

// release ends the hold, or finds it over if it may have been released before.
func (h *holds) release(t tenancy, i int) (tenancy, bool) {
	g, found := h.of(t, i, reads(h.ops[i]))
	if !found {
		return t, h.retries(i) || h.retriesEither(i)
	}
	t.held = strings.ReplaceAll(t.held, string([]byte{g}), "")
	t.shared = strings.ReplaceAll(t.shared, string([]byte{g}), "")
	return t, true
}

// retries tells whether the release may be the retry of one of unknown outcome.
func (h *holds) retries(i int) bool {
	called, wrote, retry, over := false, false, false, false
	for _, op := range h.ops[:i] {
		if owner(op) != owner(h.ops[i]) || takes(op) != takes(h.ops[i]) {
			continue
		}
		like := reads(op) == reads(h.ops[i])
		wrote = wrote || grants(op) && !reads(op)
		switch {
		case op.Op == "downgrade" && reads(h.ops[i]) && wrote: // a writer becomes a reader
			called, retry = true, retry && op.Outcome == lin.Unknown && !over
		case releases(op) && like:
			retry, over = retry || called && op.Outcome == lin.Unknown, over || op.Outcome == lin.OK
		case grants(op) && like:
			called, retry, over = true, retry && op.Outcome == lin.Unknown, false
		}
	}
	return retry
}

// retriesEither tells whether release i comes after a downgrade and then a release, both of unknown outcome. Either
// kind of release would do, so this one may be the retry, whichever kind it is. It is none once a release was of
// outcome ok, or the process was surely granted something again.
func (h *holds) retriesEither(i int) (retry bool) {
	wrote, unclear := false, false
	for _, op := range h.ops[:i] {
		known := op.Outcome == lin.OK
		switch {
		case owner(op) != owner(h.ops[i]) || h.model != "rwlock":
		case releases(op):
			retry = !known && (retry || unclear)
		case op.Op == "downgrade":
			unclear, retry = wrote && !known, retry && !known
		default:
			wrote = wrote || !reads(op)
			unclear, retry = unclear && !known, retry && !known
		}
	}
	return retry
}

func (h *holds) downgrade(t tenancy, i int) (tenancy, bool) {
	g, found := h.of(t, i, false)
	if !found || h.shares(t, g) {
		return t, false
	}
	t.shared = sorted(t.shared + string([]byte{g}))
	return t, true
}
