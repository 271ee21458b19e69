package workload

import (
	"fmt"
	"time"

	"github.com/zktorture/zktorture/sim"
)

// busy is promised of kinds in which users wait for what others hold.
var busy = Promise{
	Names: []string{"idle"},
	Text:  "while no fault is in effect, nothing that clients wait for stays free for 45 s",
}

// idleMax is the longest time, by the servers' clock and while no fault is in effect, for which something may stay free
// while clients wait for it. Once faults are over clients reach their servers at once. The sessions of the dead end
// within one session timeout (sim: 4 s). After that the pauses of a correct recipe count: recipes of this project look
// again after 30 s at most. So it is longer than both together, and than ten session timeouts, but shorter than the time
// after which an operation counts as one that waits for ever (sim: 2 min), which breaks progress.
const idleMax = 45 * time.Second

// idle judges whether capacity stays free for [idleMax] while a client waits for it.
func (j *Judgement) idle(v *View, wants func(*sim.Op) bool, holds []interval, capacity int) {
	faultFree, known := v.FaultFree(0, never)
	if !j.Judges("idle", known) || faultFree < idleMax {
		return
	}
	for _, op := range where(v.Ops, wants) {
		for _, moment := range moments(op, holds) {
			from, free := freeUntil(moment, op.Call, holds, capacity)
			if faultFree, _ = v.FaultFree(from, moment); free && faultFree >= idleMax {
				j.Add(broken("idle", []*sim.Op{op},
					"%s waits in %s from %s to %s although %s what it waits for, and no fault is in effect for %v",
					Who(op), op.Name, v.Moment(from), v.Moment(moment), tooFewHold(capacity), faultFree)...)
				return
			}
		}
	}
}

func tooFewHold(capacity int) string {
	if capacity == 1 {
		return "nobody holds"
	}
	return fmt.Sprintf("fewer than %d hold", capacity)
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

// idle judges whether an item stays free for [idleMax] while a client waits for one.
func (all deliveries) idle(v *View, j *Judgement) {
	faultFree, known := v.FaultFree(0, never)
	if !j.Judges("idle", known) || faultFree < idleMax {
		return
	}
	holds := v.holds(claiming)
	waits := func(op *sim.Op) bool { return op.Name == claiming.acquire }
	for _, op := range where(v.Ops, waits) {
		for _, moment := range moments(op, holds) {
			from, _ := freeUntil(moment, op.Call, holds, len(holds)+1)
			for _, d := range all {
				during := &sim.Op{Call: max(from, d.freedBefore(v, moment)) + 1, Return: moment}
				faultFree, _ = v.FaultFree(during.Call, moment)
				if faultFree < idleMax || !d.free(v, during) || v.blurred(during) {
					continue
				}
				j.Add(broken("idle", []*sim.Op{d.offer, op},
					"%s waits in %s from %s to %s although item %s is free, and no fault is in effect for %v",
					Who(op), op.Name, v.Moment(during.Call), v.Moment(moment), d.item, faultFree)...)
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
