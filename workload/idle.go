package workload

import (
	"time"

	"github.com/zktorture/zktorture/sim"
)

// busy is promised of kinds in which users wait for what others hold.
var busy = Promise{
	Names: []string{"idle"},
	Text:  "in calm nothing that is free and waited for stays so for 45 s",
}

// idleMax is for how long, by the servers' time in calm, what is free and waited for may serve nobody. In calm no fault
// strikes, none is in effect, and clients reach their servers at once. The sessions of the dead end within one session
// timeout (sim: 4 s); then the pauses of a correct recipe count: recipes of this project look again after 30 s at
// most. So it is longer than both together, and than ten session timeouts, but not as long as it takes an operation to
// count as one that waits for ever (sim: 2 min), which breaks progress.
const idleMax = 45 * time.Second

// idle: capacity is free, it is waited for, and nobody is served for [idleMax].
func (j *Judgement) idle(v *View, wants func(*sim.Op) bool, holds []interval, capacity int) {
	calm, known := v.Calm(0, never)
	if !j.Judges("idle", known) || calm < idleMax {
		return
	}
	for _, op := range where(v.Ops, wants) {
		for _, moment := range moments(op, holds) {
			from, free := freeUntil(moment, op.Call, holds, capacity)
			if calm, _ = v.Calm(from, moment); free && calm >= idleMax {
				j.Add(broken("idle", []*sim.Op{op},
					"%s waits in %s from %s to %s, and nobody is served, although there is something free and all is calm: %v",
					Who(op), op.Name, v.Moment(from), v.Moment(moment), calm)...)
				return
			}
		}
	}
}

// moments are those during a wait at which somebody is served, and its end.
func moments(op *sim.Op, holds []interval) (all []int64) {
	for _, h := range holds {
		if h.start > op.Call && h.start < op.Return {
			all = append(all, h.start)
		}
	}
	if op.Return > 0 {
		all = append(all, op.Return)
	}
	return all
}

// freeUntil tells whether there was capacity up to a moment, and from when on, but not before a stamp, there was and
// nobody was served.
func freeUntil(moment, begin int64, holds []interval, capacity int) (from int64, free bool) {
	held := func(at int64) (n int) {
		for _, h := range holds {
			if h.start < at && h.end >= at {
				n++
			}
		}
		return n
	}
	from = begin
	for _, h := range holds {
		if h.start < moment {
			from = max(from, h.start)
		}
		if h.end < moment && held(h.end) >= capacity {
			from = max(from, h.end)
		}
	}
	return from, held(moment) < capacity
}

// idle: an item is free, somebody waits for one, and nobody is served for [idleMax].
func (all deliveries) idle(v *View, j *Judgement) {
	calm, known := v.Calm(0, never)
	if !j.Judges("idle", known) || calm < idleMax {
		return
	}
	holds := v.holds(claiming)
	waits := func(op *sim.Op) bool { return op.Name == claiming.acquire }
	for _, op := range where(v.Ops, waits) {
		for _, moment := range moments(op, holds) {
			from, _ := freeUntil(moment, op.Call, holds, len(holds)+1)
			for _, d := range all {
				during := &sim.Op{Call: max(from, d.freedBefore(v, moment)) + 1, Return: moment}
				calm, _ = v.Calm(during.Call, moment)
				if calm < idleMax || !d.free(v, during) || v.blurred(during) {
					continue
				}
				j.Add(broken("idle", []*sim.Op{d.offer, op},
					"%s waits in %s from %s to %s, and nobody is served, although item %s is free and all is calm: %v",
					Who(op), op.Name, v.Moment(during.Call), v.Moment(moment), d.item, calm)...)
				return
			}
		}
	}
}

// freedBefore is the last stamp before a moment at which the item was offered or a claim on it ended.
func (d *delivery) freedBefore(v *View, moment int64) (at int64) {
	if d.offer != nil {
		at = d.offer.Return
	}
	for _, c := range d.claims {
		if c.release != nil && c.release.Return < moment {
			at = max(at, c.release.Return)
		}
		if end, gone := v.SessionGone(c.op.SessionAt); gone && end < moment {
			at = max(at, end)
		}
	}
	return at
}
