package linearizability_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"

	lin "github.com/zktorture/zktorture/linearizability"
)

// Histories are drawn of objects, which are correct by construction, which no checker may accuse.
//
// A history is made in reverse. An object runs operations one at a time, at increasing instants. The call of each is
// put some time before its instant and its return some time after, without overlap within a client. So clients
// overlap, and the order in which operations took effect is forgotten. Some replies are lost, perhaps long before the
// request takes effect, and some requests, which have no effect. After either the client continues under a new
// number, as by a Recorder of package histories. Stamps may be coarse, so that many are equal.
//
// In a history with stale reads, sessions are connected to lagging servers: a read sees an earlier state of the
// object, but none older than the session's last write or read (ZooKeeper Programmer's Guide, "Consistency
// Guarantees": single system image, timeliness). Such a history is for StaleReads of package histories.

// shape is the shape of a history.
type shape struct {
	Operations, Clients int
	// the most stamps between an operation's call and its instant, and between its instant and its return
	Early, Late int64
	Unknown     float64 // the share of operations of unknown outcome
	Tick        int64   // instants per stamp: 1, or more to have many equal stamps
	Stale       bool    // whether reads may be stale, where the object has reads
}

// drawShape draws the shape of a long history: 1,000 to 5,000 operations, 8 to 32 clients, up to one in ten of
// unknown outcome.
func drawShape(r *rand.Rand) shape {
	reach := []int64{3, 10, 30, 100}[r.IntN(4)]
	return shape{
		Operations: 1000 + r.IntN(4001), Clients: 8 + r.IntN(25),
		Early: 1 + r.Int64N(reach), Late: 1 + r.Int64N(reach),
		Unknown: []float64{0, 0.001, 0.01, 0.03, 0.1}[r.IntN(5)],
		Tick:    []int64{1, 1, 5, 30}[r.IntN(4)], Stale: r.IntN(2) == 0,
	}
}

// drawLegal draws a history of the model of that name, one of [models].
func drawLegal(r *rand.Rand, model string, with lin.Parameters, s shape) lin.History {
	var h lin.History
	if model == "doublebarrier" {
		h = drawRounds(r, s, with.Parties)
	} else {
		d := &drawing{r: r, shape: s, object: newObject(r, model, with.Permits), clients: make([]client, s.Clients)}
		h = d.run()
	}
	for i := range h {
		h[i].Call /= s.Tick
		if h[i].Return != lin.Forever {
			h[i].Return /= s.Tick
		}
	}
	slices.SortStableFunc(h, func(a, b lin.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return h
}

// object runs operations one at a time.
type object interface {
	// run runs one random operation of a process, unless the process would have to wait.
	run(r *rand.Rand, process int) (op lin.Operation, done bool)
	// lost draws an operation of a process whose request is lost.
	lost(r *rand.Rand, process int) lin.Operation
}

// holder is an object that must know if the reply to an operation is lost.
type holder interface {
	unanswered(r *rand.Rand, process int, op lin.Operation)
}

// reader is an object with readable versions, numbered from 0. The last is the present.
type reader interface {
	version() int
	read(r *rand.Rand, version int) lin.Operation
}

type client struct {
	free  int64 // the end of its last operation
	lives int   // the number of its operations of unknown outcome
	view  int   // the last version that its session has seen
}

type drawing struct {
	r       *rand.Rand
	shape   shape
	object  object
	clients []client
	history lin.History
}

// patience is how many instants there are for an operation: at some of them no process can run.
const patience = 100

func (d *drawing) run() lin.History {
	instant := d.shape.Early
	for range patience * d.shape.Operations {
		if len(d.history) >= d.shape.Operations {
			break
		}
		instant += 1 + d.r.Int64N(3)
		if process := d.r.IntN(len(d.clients)); d.clients[process].free <= instant {
			d.operate(process, instant)
		}
	}
	return d.history
}

func (d *drawing) operate(process int, instant int64) {
	c := &d.clients[process]
	if d.r.Float64() < d.shape.Unknown/2 {
		d.note(process, instant, d.object.lost(d.r, process), true)
		return
	}
	if reader, ok := d.object.(reader); ok && d.shape.Stale && d.r.IntN(3) == 0 {
		c.view += d.r.IntN(reader.version() - c.view + 1)
		d.note(process, instant, reader.read(d.r, c.view), false)
		return
	}
	op, done := d.object.run(d.r, process)
	if !done {
		return
	}
	unknown := d.r.Float64() < d.shape.Unknown/2
	if holder, ok := d.object.(holder); ok && unknown {
		holder.unanswered(d.r, process, op)
	}
	if reader, ok := d.object.(reader); ok && !unknown {
		c.view = reader.version()
	}
	d.note(process, instant, op, unknown)
}

func (d *drawing) note(process int, instant int64, op lin.Operation, unknown bool) {
	c := &d.clients[process]
	if op.Client = process + 100*c.lives; c.lives > 0 {
		op.Process = lin.Int(int64(process))
	}
	op.Call = max(c.free, instant-d.r.Int64N(d.shape.Early))
	op.Return = instant + d.r.Int64N(d.shape.Late)
	c.free = op.Return
	if unknown {
		d.giveUp(c, &op)
	}
	d.history = append(d.history, op)
}

// giveUp makes the outcome of an operation unknown. It may take effect after later operations of its client.
func (d *drawing) giveUp(c *client, op *lin.Operation) {
	c.free = op.Call + d.r.Int64N(op.Return-op.Call+1)
	op.Outcome = lin.Unknown
	if d.r.IntN(2) == 0 {
		op.Return = lin.Forever
	}
	if d.r.IntN(4) > 0 {
		op.Result = lin.Null
	}
	if _, holds := d.object.(holder); !holds && d.r.IntN(3) == 0 {
		op.Call = d.r.Int64N(op.Call + 1)
		return
	}
	c.lives++
	if d.r.IntN(2) == 0 {
		c.view = 0 // the next session's server may lag as it likes
	}
}

// models are the names of the models that histories can be drawn for, see [lin.ByName].
var models = []string{"queue", "priorityqueue", "counter", "barrier", "lock", "election", "rwlock", "semaphore", "doublebarrier"}

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
	if !holding {
		return h.grant(r, process)
	}
	delete(h.held, process)
	return h.word("release", mine), true
}

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
	case r.IntN(2) == 0:
	case holding:
		h.doomed[process] = true
	case op.Op == "release" || op.Op == "rrelease" || op.Op == "resigned":
		h.again[process] = op
	}
}
