// Package longhistory makes long histories of busy objects, to measure the speed of judging.
//
// A history is a run of an atomic object: each operation takes effect at one instant, and the instants are four
// stamps apart. Each operation is extended at random around its instant, so that a few overlap, as far as its client
// is free. The history is legal, unless one violation is asked for. It is written while it is drawn, in order of
// return, in constant memory.
package longhistory

import (
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
)

// Config describes a history.
type Config struct {
	Model      string // queue or lock
	Operations int
	Clients    int
	Unknown    float64 // share of operations of unknown outcome; some of them took effect
	Peeks      float64 // queue: share of operations that are peeks
	Texts      bool    // queue: values are texts, such as v17, rather than numbers
	Seed       uint64
	// Planted adds one violation, in the middle: a value that overtakes another, or two holders at once.
	Planted bool
}

// Window is longer than any operation of known outcome lasts, in stamps.
const Window = 4 * spread

// Stamps between instants, and the most between an instant and its operation's call or return.
const (
	pace   = 4
	spread = 24
)

// Write draws a history and writes it in the format of [histories.Write]. Equal configurations make equal
// histories. The error is for an invalid Config, or w's.
func Write(w io.Writer, cfg Config) error {
	d := &drawing{Config: cfg, out: w, random: rand.New(rand.NewPCG(cfg.Seed, 0)), busy: make([]int64, cfg.Clients),
		names: make([]int, cfg.Clients)}
	for i := range d.names {
		d.names[i] = i
	}
	var object interface{ next(client int) }
	switch {
	case cfg.Clients < 2:
		return fmt.Errorf("a history of %d clients has nothing to judge: it needs 2 at least", cfg.Clients)
	case cfg.Model == "queue":
		object = &queue{drawing: d}
	case cfg.Model == "lock":
		object = &lock{drawing: d, holder: nobody}
	default:
		return fmt.Errorf("no long history can be made of the model %q; there are queue and lock", cfg.Model)
	}
	for d.made < cfg.Operations && d.err == nil {
		d.now += pace
		if client := d.random.IntN(cfg.Clients); d.busy[client] < d.now {
			object.next(client)
		}
		d.write(d.now - spread)
	}
	d.write(linearizability.Forever)
	return d.err
}

type drawing struct {
	Config
	out    io.Writer
	err    error
	random *rand.Rand
	now    int64
	busy   []int64 // by client: the last stamp of its last operation
	names  []int   // by client: its present number
	made   int
	wait   pending // until all that return sooner are drawn
}

type span struct{ call, end int64 }

// around returns a span about the present instant in which the client is free.
func (d *drawing) around(client int) span {
	return span{max(d.busy[client]+1, d.now-d.random.Int64N(spread)), d.now + d.random.Int64N(spread)}
}

// unknown draws whether the next operation's outcome is unknown.
func (d *drawing) unknown() bool { return d.random.Float64() < d.Unknown }

// add adds an operation. After one of unknown outcome the client continues under another number.
func (d *drawing) add(client int, s span, op linearizability.Operation) {
	op.Client, op.Process = d.names[client], linearizability.Int(int64(client))
	op.Call, op.Return = s.call, s.end
	d.busy[client] = s.end
	heap.Push(&d.wait, op)
	d.made++
	if op.Outcome == linearizability.Unknown {
		d.names[client] += d.Clients
	}
}

func (d *drawing) write(before int64) {
	for len(d.wait) > 0 && d.wait[0].Return < before && d.err == nil {
		op := heap.Pop(&d.wait).(linearizability.Operation)
		if op.Outcome == linearizability.Unknown {
			op.Return = linearizability.Forever
		}
		d.err = histories.Write(d.out, linearizability.History{op})
	}
}

// due reports whether the violation is to be planted now.
func (d *drawing) due() bool { return d.Planted && d.made >= d.Operations/2 }

// pending is a heap of operations by return.
type pending []linearizability.Operation

func (p pending) Len() int           { return len(p) }
func (p pending) Less(i, k int) bool { return p[i].Return < p[k].Return }
func (p pending) Swap(i, k int)      { p[i], p[k] = p[k], p[i] }
func (p *pending) Push(op any)       { *p = append(*p, op.(linearizability.Operation)) }
func (p *pending) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
