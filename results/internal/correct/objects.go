package correct

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"

	lin "github.com/zktorture/zktorture/linearizability"
)

// Models are the names of the models that histories can be drawn for, see [lin.ByName].
var Models = []string{"queue", "priorityqueue", "counter", "barrier", "lock", "election", "rwlock", "semaphore", "doublebarrier"}

func newObject(r *rand.Rand, model string, permits int) object {
	switch model {
	case "queue", "priorityqueue":
		return newQueue(r, model == "priorityqueue")
	case "counter":
		return newCounter(r)
	case "barrier":
		return &barrier{}
	}
	return newHolds(r, model, permits)
}

// queue is a queue, by priority or not. The heads are what a peek would see at each version.
type queue struct {
	byPriority bool
	backlog    int // about the average number of values
	values     []lin.Value
	heads      []lin.Value
	offers     int64
	peeks      int // percent of the operations
}

func newQueue(r *rand.Rand, byPriority bool) *queue {
	return &queue{byPriority: byPriority, backlog: 1 + r.IntN(20), peeks: r.IntN(40), heads: []lin.Value{lin.Null}}
}

func (q *queue) head() lin.Value { return q.heads[len(q.heads)-1] }

// changed begins a new version.
func (q *queue) changed() {
	head := lin.Null
	if len(q.values) > 0 {
		head = q.values[0]
	}
	q.heads = append(q.heads, head)
}

func (q *queue) run(r *rand.Rand, _ int) (lin.Operation, bool) {
	switch {
	case r.IntN(100) < q.peeks:
		return lin.Operation{Op: "peek", Result: q.head()}, true
	case r.IntN(2*q.backlog) >= len(q.values):
		op := lin.Operation{Op: "offer", Arg: q.value(r)}
		q.put(op.Arg)
		return op, true
	}
	op := lin.Operation{Op: []string{"poll", "take"}[r.IntN(2)], Result: q.head()}
	if op.Result.IsNull() {
		return op, op.Op == "poll"
	}
	q.values = q.values[1:]
	q.changed()
	return op, true
}

// value returns a value that has not been offered.
func (q *queue) value(r *rand.Rand) lin.Value {
	q.offers++
	if !q.byPriority {
		return lin.Int(q.offers)
	}
	return lin.Str(strconv.Itoa(r.IntN(5)) + ":" + strconv.FormatInt(q.offers, 10))
}

// put inserts a value behind all of its priority or higher.
func (q *queue) put(v lin.Value) {
	at := len(q.values)
	for q.byPriority && at > 0 && q.values[at-1].String()[0] > v.String()[0] { // priorities have one digit
		at--
	}
	q.values = slices.Insert(slices.Clone(q.values), at, v)
	q.changed()
}

// lost is an offer whose value never comes out, or a removal of a value that another removal takes.
func (q *queue) lost(r *rand.Rand, _ int) lin.Operation {
	if r.IntN(2) == 0 {
		return lin.Operation{Op: "offer", Arg: q.value(r)}
	}
	op := lin.Operation{Op: "poll"}
	if len(q.values) > 0 {
		op.Result = q.values[r.IntN(len(q.values))]
	}
	return op
}

func (q *queue) version() int { return len(q.heads) - 1 }

func (q *queue) read(r *rand.Rand, version int) lin.Operation {
	op := lin.Operation{Op: "peek", Result: q.heads[version]}
	if op.Result.IsNull() && r.IntN(2) == 0 {
		op.Op = "poll"
	}
	return op
}

// counter is a number with its versions.
type counter struct {
	numbers []int64
	deltas  []int64
	untold  int // percent of the additions
}

// newCounter draws the amounts: nearly always one, as sums of other numbers are hard to judge.
func newCounter(r *rand.Rand) *counter {
	c := &counter{numbers: []int64{0}, deltas: []int64{1}, untold: []int{0, 0, 20}[r.IntN(3)]}
	if r.IntN(10) == 0 {
		c.deltas, c.untold = [][]int64{{1, 2, 5}, {1, 1, 10, -3}}[r.IntN(2)], 0
	}
	return c
}

func (c *counter) run(r *rand.Rand, _ int) (lin.Operation, bool) {
	if r.IntN(3) == 0 {
		return c.read(r, c.version()), true
	}
	op := c.lost(r, 0)
	c.numbers = append(c.numbers, c.numbers[c.version()]+op.Arg.Int())
	if r.IntN(100) >= c.untold {
		op.Result = lin.Int(c.numbers[c.version()])
	}
	return op, true
}

func (c *counter) lost(r *rand.Rand, _ int) lin.Operation {
	return lin.Operation{Op: "add", Arg: lin.Int(c.deltas[r.IntN(len(c.deltas))])}
}

func (c *counter) version() int { return len(c.numbers) - 1 }

func (c *counter) read(_ *rand.Rand, version int) lin.Operation {
	return lin.Operation{Op: "get", Result: lin.Int(c.numbers[version])}
}

// barrier is open or shut.
type barrier struct{ shut bool }

func (g *barrier) run(r *rand.Rand, process int) (lin.Operation, bool) {
	op := g.lost(r, process)
	if op.Op == "wait" {
		return op, !g.shut
	}
	g.shut = op.Op == "shut"
	return op, true
}

func (g *barrier) lost(r *rand.Rand, _ int) lin.Operation {
	return lin.Operation{Op: []string{"wait", "wait", "shut", "open"}[r.IntN(4)]}
}

// holds is a lock, an office, a read/write lock or a semaphore.
type holds struct {
	model    string
	capacity int
	tokens   bool
	token    int64
	held     map[int]hold          // by process
	doomed   map[int]bool          // processes whose session ends before their next operation
	again    map[int]lin.Operation // by process: a release to be retried
}

type hold struct {
	takes int
	reads bool
}

func newHolds(r *rand.Rand, model string, permits int) *holds {
	h := &holds{model: model, capacity: 1, tokens: r.IntN(2) == 0, held: map[int]hold{}, doomed: map[int]bool{},
		again: map[int]lin.Operation{}}
	switch model {
	case "rwlock":
		h.capacity = 1000 // more than there are readers
	case "semaphore":
		h.capacity = permits
	}
	return h
}

func (h *holds) run(r *rand.Rand, process int) (lin.Operation, bool) {
	if h.doomed[process] {
		delete(h.doomed, process)
		delete(h.held, process)
		return lin.Operation{}, false // its hold is unknown
	}
	if op, found := h.again[process]; found {
		delete(h.again, process)
		return op, true
	}
	mine, holding := h.held[process]
	switch {
	case !holding:
		return h.grant(r, process)
	case h.writes(mine) && r.IntN(3) == 0:
		h.held[process] = hold{1, true}
		return lin.Operation{Op: "downgrade"}, true
	}
	delete(h.held, process)
	return h.word("release", mine), true
}

func (h *holds) writes(mine hold) bool { return h.model == "rwlock" && !mine.reads }

// grant grants a process its request, or refuses a try.
func (h *holds) grant(r *rand.Rand, process int) (lin.Operation, bool) {
	wants := h.wish(r)
	op := h.word(h.asks(r), wants)
	if h.used()+wants.takes > h.capacity {
		return op, op.Op == "try" || op.Op == "rtry"
	}
	h.held[process] = wants
	h.token++
	switch {
	case h.tokens:
		op.Result = lin.Int(h.token)
	case op.Op == "try" || op.Op == "rtry":
		op.Result = lin.Bool(true)
	}
	return op, true
}

func (h *holds) asks(r *rand.Rand) string {
	if h.model != "election" && r.IntN(5) == 0 {
		return "try"
	}
	return "acquire"
}

// wish draws a process's request.
func (h *holds) wish(r *rand.Rand) hold {
	switch {
	case h.model == "semaphore":
		return hold{takes: 1 + r.IntN(h.capacity)}
	case h.model == "rwlock" && r.IntN(3) > 0:
		return hold{1, true}
	}
	return hold{takes: h.capacity}
}

func (h *holds) used() (sum int) {
	for _, one := range h.held {
		sum += one.takes
	}
	return sum
}

func (h *holds) word(name string, what hold) lin.Operation {
	words := map[string]string{"acquire": "elected", "release": "resigned"}
	op := lin.Operation{Op: name}
	switch {
	case h.model == "election":
		op.Op = cmp.Or(words[name], name)
	case what.reads:
		op.Op = "r" + name
	case h.model == "semaphore":
		op.Arg = lin.Int(int64(what.takes))
	}
	return op
}

// lost is a release of the process's hold, or a grant that it never gets.
func (h *holds) lost(r *rand.Rand, process int) lin.Operation {
	if mine, holding := h.held[process]; holding && !h.doomed[process] {
		return h.word("release", mine)
	}
	return h.word(h.asks(r), h.wish(r))
}

// unanswered: a process that missed the reply to a grant holds it nevertheless; it releases it, or its session ends.
// A process that missed the reply to a release may retry.
func (h *holds) unanswered(r *rand.Rand, process int, op lin.Operation) {
	_, holding := h.held[process]
	switch {
	case r.IntN(2) == 0 || op.Op == "downgrade":
	case holding:
		h.doomed[process] = true
	case op.Op == "release" || op.Op == "rrelease" || op.Op == "resigned":
		h.again[process] = op
	}
}
