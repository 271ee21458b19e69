// Package correct draws long histories of objects that are correct by construction, which no checker may accuse.
//
// A history is made in reverse. An object runs operations one at a time, at increasing instants. The call of each is
// put some time before its instant and its return some time after, without overlap within a client. So clients
// overlap, and the order in which operations took effect is forgotten. Some replies are lost, perhaps long before the
// request takes effect, and some requests, which have no effect. After either the client continues under a new
// number, as by a Recorder of package histories. Stamps may be coarse, so that many are equal.
//
// In a history with stale reads, sessions are connected to lagging servers: a read sees an earlier state of the
// object, but none older than the session's last write or read (ZooKeeper Programmer's Guide, "Consistency
// Guarantees": single system image, timeliness). Such a history is for [histories.StaleReads].
package correct

import (
	"cmp"
	"math/rand/v2"
	"slices"

	lin "github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
)

// Shape is the shape of a history.
type Shape struct {
	Operations, Clients int
	// the most stamps between an operation's call and its instant, and between its instant and its return
	Early, Late int64
	Unknown     float64 // the share of operations of unknown outcome
	Tick        int64   // instants per stamp: 1, or more to have many equal stamps
	Stale       bool    // whether reads may be stale, where the object has reads
}

// DrawShape draws the shape of a long history: 1,000 to 5,000 operations, 8 to 32 clients, up to one in ten of
// unknown outcome.
func DrawShape(r *rand.Rand) Shape {
	reach := []int64{3, 10, 30, 100}[r.IntN(4)]
	return Shape{
		Operations: 1000 + r.IntN(4001), Clients: 8 + r.IntN(25),
		Early: 1 + r.Int64N(reach), Late: 1 + r.Int64N(reach),
		Unknown: []float64{0, 0.001, 0.01, 0.03, 0.1}[r.IntN(5)],
		Tick:    []int64{1, 1, 5, 30}[r.IntN(4)], Stale: r.IntN(2) == 0,
	}
}

// Case is a correct history and its model.
type Case struct {
	Model   lin.Model
	Shape   Shape
	History lin.History // if its reads may be stale, as StaleReads widens them
}

// Stale reports whether the history has reads that may be stale.
func (c *Case) Stale() bool { return c.Shape.Stale && reads(c.Model.Name) }

// seed is the seed of all cases.
const seed = 1

// New draws case i of a model of [Models]. An error says that the history is not sound, which is a bug in this
// package.
func New(model string, i uint64) (*Case, error) {
	r := rand.New(rand.NewPCG(seed, i))
	with := lin.Parameters{Parties: 2 + r.IntN(4), Permits: 1 + r.IntN(5)}
	m, err := lin.ByName(model, with)
	if err != nil {
		return nil, err
	}
	c := &Case{Model: m, Shape: DrawShape(r)}
	c.History = Draw(r, model, with, c.Shape)
	if err := m.Validate(c.History); err != nil {
		return nil, err
	}
	if c.Stale() {
		c.History = histories.StaleReads(c.History)
	}
	return c, nil
}

// Draw draws a history of the model of that name, one of [Models].
func Draw(r *rand.Rand, model string, with lin.Parameters, s Shape) lin.History {
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

// reads reports whether the model has reads that may be stale.
func reads(model string) bool {
	return slices.Contains([]string{"queue", "priorityqueue", "counter"}, model)
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
	shape   Shape
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
