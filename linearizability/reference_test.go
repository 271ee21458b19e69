package linearizability

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The reference says what linearizable means as plainly as it can be said: try every order of the
// operations, and for those of unknown outcome also that they never happened.

// object is a sequential object. It applies an operation and returns itself afterwards; or tells
// that the operation is not legal now.
type object interface {
	apply(h History, i int) (legal bool, after object)
}

func linearizableByReference(o object, h History) bool {
	return someOrder(o, h, make([]bool, len(h)))
}

func someOrder(o object, h History, done []bool) bool {
	if !slices.Contains(done, false) {
		return true
	}
	for i, op := range h {
		if done[i] || waits(h, done, i) {
			continue
		}
		done[i] = true
		legal, after := o.apply(h, i)
		never := op.Outcome != OK // what failed never happened; what is unknown may not have
		happened := op.Outcome != Fail && legal
		if never && someOrder(o, h, done) || happened && someOrder(after, h, done) {
			return true
		}
		done[i] = false
	}
	return false
}

// waits tells whether another operation that is not done returned before operation i was called.
func waits(h History, done []bool, i int) bool {
	for k, other := range h {
		if !done[k] && other.Outcome != Unknown && other.Return < h[i].Call {
			return true
		}
	}
	return false
}

// plainQueue is the values in the queue, oldest first.
type plainQueue []Value

func (q plainQueue) apply(h History, i int) (bool, object) {
	op := h[i]
	head := Null
	if len(q) > 0 {
		head = q[0]
	}
	switch op.Op {
	case "offer":
		return true, append(slices.Clone(q), op.Arg)
	case "peek":
		return op.Outcome == Unknown || op.Result == head, q
	}
	if op.Outcome == Unknown && op.Result == Null && head != Null {
		return true, q[1:]
	}
	if op.Result != head {
		return false, q
	}
	if head == Null {
		return true, q
	}
	return true, q[1:]
}

// plainLock is the operation that granted the lock to its holder, or -1, and all tokens granted.
type plainLock struct {
	grant  int
	tokens []int64
}

func (l plainLock) apply(h History, i int) (bool, object) {
	op := h[i]
	switch {
	case op.Op == "release":
		if l.grant >= 0 && l.grant < i && h[l.grant].owner() == op.owner() && !grantedBetween(h, l.grant, i) {
			return true, plainLock{-1, l.tokens}
		}
		return retries(h, i), l
	case refused(op):
		return true, l
	case l.grant >= 0:
		return false, l
	}
	after := plainLock{i, slices.Clone(l.tokens)}
	if op.Result.IsInt() && !(op.Op == "try" && op.Result == Int(0)) {
		for _, token := range l.tokens {
			if token >= op.Result.Int() {
				return false, l
			}
		}
		after.tokens = append(after.tokens, op.Result.Int())
	}
	return true, after
}

// grantedBetween tells whether i's process was surely granted the lock after grant g and before i.
func grantedBetween(h History, g, i int) bool {
	return slices.ContainsFunc(h[g+1:i], func(op Operation) bool {
		return op.owner() == h[i].owner() && op.Op != "release" && op.Outcome == OK && !refused(op)
	})
}

// refused tells whether the operation is a try that did not get the lock.
func refused(op Operation) bool {
	return op.tries() && op.Outcome == OK && slices.Contains([]Value{Null, Bool(false), Int(0)}, op.Result)
}

// retries tells whether release i comes after one of unknown outcome by the same process, which
// had called for the lock, and not after a sure grant later than that. Test histories are in order
// of call.
func retries(h History, i int) bool {
	called, retry := false, false
	for _, op := range h[:i] {
		switch {
		case op.owner() != h[i].owner() || op.Outcome == Fail || refused(op):
		case op.Op == "release":
			retry = retry || called && op.Outcome == Unknown
		default:
			called, retry = true, retry && op.Outcome == Unknown
		}
	}
	return retry
}

// modelsUnderTest are the models that are compared with the reference.
var modelsUnderTest = []Model{Lock(), Queue(), PriorityQueue(), RWLock(), Semaphore(2)}

func plain(m Model) object {
	switch m.Name {
	case "lock":
		return plainLock{grant: -1}
	case "rwlock":
		return plainPermits{}
	case "semaphore":
		return plainPermits{permits: 2}
	case "priorityqueue":
		return plainPriorities{}
	}
	return plainQueue{}
}

// drawWild draws operations with no regard to what is legal; few values, so that they meet often.
func drawWild(t *rapid.T, m Model) History {
	stamp := rapid.Int64Range(0, 12)
	h := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Operation {
		op := Operation{
			Client: rapid.IntRange(0, 2).Draw(t, "client"), Op: rapid.SampledFrom(m.Operations).Draw(t, "op"),
			Outcome: rapid.SampledFrom([]Outcome{OK, OK, OK, OK, Unknown, Fail}).Draw(t, "outcome"),
			Call:    stamp.Draw(t, "call"),
		}
		op.Return = op.Call + rapid.Int64Range(0, 5).Draw(t, "length")
		if op.Outcome == Unknown && rapid.Bool().Draw(t, "forever") {
			op.Return = Forever
		}
		value := rapid.SampledFrom([]Value{Null, Int(0), Int(1), Int(2), Int(3)}).Draw(t, "value")
		switch op.Op {
		case "offer":
			op.Arg = value
		case "release", "rrelease", "downgrade":
		default:
			op.Result = value
		}
		if m.Name == "semaphore" && rapid.IntRange(0, 2).Draw(t, "two permits") == 0 {
			op.Arg = Int(2)
		}
		return op
	}), 0, 7).Draw(t, "history")
	sortByCall(h)
	busy := make(map[int]int64) // until when each client is
	for i := range h {
		op := &h[i]
		if late := busy[op.Client] - op.Call; late > 0 {
			op.Call += late
			op.Return = max(op.Return, op.Call)
		}
		if op.Outcome != Unknown {
			busy[op.Client] = op.Return
		}
	}
	sortByCall(h)
	return h
}

func sortByCall(h History) {
	slices.SortStableFunc(h, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
}

// agree fails the test if Check and the reference differ on h. It returns the verdict.
func agree(t rapid.TB, m Model, h History) Verdict {
	t.Helper()
	v := Check(m, h, Options{})[0]
	if legal := linearizableByReference(plain(m), h); legal != (v.Outcome == Ok) || v.Outcome == Undetermined {
		t.Fatalf("reference: legal is %v; Check: %v\n%s", legal, v, lines(h))
	}
	return v
}

func lines(h History) string {
	var s string
	for _, op := range h {
		s += op.String() + "\n"
	}
	return s
}

func TestAgreesWithReferenceOnWildHistories(t *testing.T) {
	for _, m := range modelsUnderTest {
		t.Run(m.Name, func(t *testing.T) {
			seen := make(map[string]int)
			rapid.Check(t, func(t *rapid.T) {
				h := drawWild(t, m)
				if Validate(m, h) != nil || !simple(h) {
					t.Skip("not a sound history")
				}
				v := agree(t, m, h)
				seen[v.Outcome.String()+v.Property]++
				checkCertificate(t, m, v)
			})
			t.Log(seen)
		})
	}
}

// checkCertificate fails unless the operations that a violation names are illegal by themselves,
// and unless the rule that it names fits.
func checkCertificate(t rapid.TB, m Model, v Verdict) {
	t.Helper()
	if v.Outcome != Violation {
		return
	}
	if linearizableByReference(plain(m), v.Operations) {
		t.Fatalf("these operations are legal by themselves, but named as a violation: %v", v)
	}
	without := func(is func(Operation) bool) bool { // whether the operations are legal without these
		return linearizableByReference(plain(m), slices.DeleteFunc(slices.Clone(v.Operations), is))
	}
	empty := func(op Operation) bool { return op.Op != "offer" && op.Outcome == OK && op.Result == Null }
	fits := false
	switch v.Property {
	case "phantom", "duplicate": // of one value
		fits = without(func(op Operation) bool { return op.Op != "offer" })
	case "false-empty":
		fits = without(empty)
	case "stale-peek":
		fits = without(func(op Operation) bool { return op.Op == "peek" }) && !slices.ContainsFunc(v.Operations, empty)
	case "order", "lost":
		fits = !slices.ContainsFunc(v.Operations, func(op Operation) bool { return op.Op == "peek" || empty(op) })
	case "exclusion", "release":
		fits = !linearizableByReference(plain(m), untokened(v.Operations))
	case "fencing":
		fits = linearizableByReference(plain(m), untokened(v.Operations))
	}
	if !fits {
		t.Fatalf("the rule does not fit the operations: %v", v)
	}
}

// untokened returns the operations of a lock without their tokens.
func untokened(h History) History {
	bare := slices.Clone(h)
	for i := range bare {
		switch {
		case bare[i].Op == "acquire" || bare[i].Op == "racquire":
			bare[i].Result = Null
		case bare[i].tries() && !refused(bare[i]):
			bare[i].Result = Bool(true)
		}
	}
	return bare
}

// real is an object that runs operations one at a time; histories made with it are legal.
type real struct {
	model   Model
	queue   []Value
	holder  int         // a client, or -1
	permits map[int]int // how many permits a client holds; of two, or a reader one and a writer two
	token   int64
	counter int64
}

// run carries out one operation, drawn for the client, and returns it with its result.
func (r *real) run(t *rapid.T, client int) (op Operation, enabled bool) {
	op = Operation{Client: client, Op: rapid.SampledFrom(r.model.Operations).Draw(t, "op")}
	switch r.model.Name {
	case "lock":
		return r.runLock(op)
	case "rwlock", "semaphore":
		return r.runPermits(t, op)
	}
	if op.Op == "offer" {
		r.counter++
		op.Arg = Int(r.counter)
		r.queue = append(r.queue, op.Arg)
		if r.model.Name == "priorityqueue" {
			op.Arg = Str(fmt.Sprintf("%d:%d", rapid.IntRange(-1, 1).Draw(t, "priority"), r.counter))
			r.queue[len(r.queue)-1] = op.Arg
			slices.SortStableFunc(r.queue, comparePriorities)
		}
		return op, true
	}
	if len(r.queue) == 0 {
		return op, op.Op != "take"
	}
	op.Result = r.queue[0]
	if op.Op != "peek" {
		r.queue = r.queue[1:]
	}
	return op, true
}

func (r *real) runLock(op Operation) (Operation, bool) {
	switch {
	case op.Op == "release":
		held := r.holder == op.Client
		if held {
			r.holder = -1
		}
		return op, held
	case r.holder >= 0 && op.Op == "acquire":
		return op, false
	case r.holder >= 0:
		return op, true // a try that is refused
	}
	r.holder = op.Client
	r.token++
	op.Result = Int(r.token)
	return op, true
}

// drawLegal draws operations in the order in which they take effect, and widens each around that
// instant, without overlap of one client with itself. Some replies are lost, and some requests.
func drawLegal(t *rapid.T, m Model, sizeMax int) History {
	r := &real{model: m, holder: -1, permits: map[int]int{}}
	busy := make(map[int]int64) // until when each client is
	var h History
	for i := range rapid.IntRange(0, sizeMax).Draw(t, "size") {
		instant := 4 * int64(i)
		client := rapid.IntRange(0, 3).Draw(t, "client")
		if busy[client] > instant {
			continue
		}
		op, enabled := r.run(t, client)
		if !enabled {
			continue
		}
		op.Call = max(busy[client], instant-rapid.Int64Range(0, 12).Draw(t, "early"))
		op.Return = instant + rapid.Int64Range(0, 12).Draw(t, "late")
		busy[client] = op.Return
		h = append(h, op)
	}
	for i := range h {
		blur(t, &h[i])
	}
	sortByCall(h)
	return h
}

// blur may lose the reply of an operation that took effect.
func blur(t *rapid.T, op *Operation) {
	if rapid.IntRange(0, 9).Draw(t, "lost") > 0 {
		return
	}
	op.Outcome, op.Return = Unknown, Forever
	if rapid.Bool().Draw(t, "result lost") {
		op.Result = Null
	}
}

func TestLegalHistoriesAreNeverAccused(t *testing.T) {
	for _, m := range modelsUnderTest {
		t.Run(m.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				h := drawLegal(t, m, 30)
				if v := Check(m, h, Options{})[0]; v.Outcome != Ok {
					t.Fatalf("a legal history was accused: %v\n%s", v, lines(h))
				}
			})
		})
	}
}

// TestAgreesWithReferenceOnMutatedHistories changes one thing or two in a legal history, which makes
// violations that are hard to see.
func TestAgreesWithReferenceOnMutatedHistories(t *testing.T) {
	for _, m := range modelsUnderTest {
		t.Run(m.Name, func(t *testing.T) {
			seen := make(map[string]int)
			rapid.Check(t, func(t *rapid.T) {
				h := drawLegal(t, m, 12)
				h = h[:min(len(h), 7)]
				for range rapid.IntRange(1, 2).Draw(t, "mutations") {
					h = mutate(t, h)
				}
				if Validate(m, h) != nil || !simple(h) {
					t.Skip("not a sound history")
				}
				v := agree(t, m, h)
				seen[v.Outcome.String()+v.Property]++
				checkCertificate(t, m, v)
			})
			t.Log(seen)
		})
	}
}

// mutate changes one thing.
func mutate(t *rapid.T, h History) History {
	if len(h) == 0 {
		return h
	}
	index := rapid.IntRange(0, len(h)-1)
	i, k := index.Draw(t, "i"), index.Draw(t, "k")
	switch rapid.IntRange(0, 4).Draw(t, "mutation") {
	case 0:
		return slices.Delete(h, i, i+1)
	case 1:
		h[i].Result, h[k].Result = h[k].Result, h[i].Result
	case 2:
		h[i].Result = Null
	case 3:
		h[i].Return = h[i].Call + (h[i].Return-h[i].Call)/4
	case 4:
		h[i].Outcome = rapid.SampledFrom([]Outcome{OK, Unknown, Fail}).Draw(t, "outcome")
	}
	return h
}

// TestFIFOEqualIsExact forges queues whose hashes collide.
func TestFIFOEqualIsExact(t *testing.T) {
	empty := &fifo{power: 1}
	a, b, long := empty.push(1).push(2), empty.push(1).push(3), empty.push(1).push(2).push(3)
	b.hash, long.hash = a.hash, a.hash
	if a.equal(b) || a.equal(long) || long.equal(a) {
		t.Error("queues with different items are equal")
	}
}

// TestFIFO compares the persistent queue with a slice; old versions stay as they were.
func TestFIFO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			queue *fifo
			items []int32
		}
		versions := []version{{queue: &fifo{power: 1}}}
		for i := range rapid.IntRange(0, 40).Draw(t, "size") {
			v := versions[rapid.IntRange(0, len(versions)-1).Draw(t, "version")]
			if len(v.items) > 0 && rapid.Bool().Draw(t, "pop") {
				head, rest := v.queue.pop()
				if head != v.items[0] {
					t.Fatalf("the head of %v is %d", v.items, head)
				}
				versions = append(versions, version{rest, v.items[1:]})
				continue
			}
			item := int32(i % 3)
			versions = append(versions, version{v.queue.push(item), append(slices.Clone(v.items), item)})
		}
		for _, a := range versions {
			for _, b := range versions {
				equal := slices.Equal(a.items, b.items)
				if a.queue.equal(b.queue) != equal || equal && a.queue.hash != b.queue.hash {
					t.Fatalf("%v and %v: equal is %v, hashes %x %x", a.items, b.items, !equal, a.queue.hash,
						b.queue.hash)
				}
			}
		}
	})
}
