package workload

import (
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// delivery is what clients saw of one item of a locking queue.
type delivery struct {
	item   string
	offer  *world.Op // nil: it was never offered
	claims []Hold
	dones  []*world.Op // that were to remove it, whether they did or not
}

// deliveries are in the order in which the items were first mentioned.
type deliveries []*delivery

var claiming = Role{Noun: "the claim", Acquire: "claim", Release: "finish", Try: "try"}

func (v *View) deliveries() (all deliveries) {
	of := func(item string) *delivery {
		for _, d := range all {
			if d.item == item {
				return d
			}
		}
		all = append(all, &delivery{item: item})
		return all[len(all)-1]
	}
	for _, op := range v.Ops {
		if op.Name == "offer" {
			of(op.Arg).offer = op
		}
		if item, done := finished(op); done {
			d := of(item)
			d.dones = append(d.dones, op)
		}
	}
	for i, op := range v.Ops {
		if _, ok := op.Data.(*Held); ok && claiming.takes(op) && op.Outcome == world.OK && v.vague(op) {
			d, release := of(op.Result), claiming.released(v.Ops[i+1:], op)
			d.claims = append(d.claims, Hold{Op: op, Release: release, From: op.Call, To: op.Call, Cut: operations.VagueEnd})
		}
	}
	for _, hold := range v.Holds(claiming) {
		d := of(hold.Op.Result)
		d.claims = append(d.claims, hold)
	}
	return all
}

// exclusion: one claim on an item at a time.
func (all deliveries) exclusion(v *View) []sim.Violation {
	for _, d := range all {
		r := claiming
		r.Noun = "a claim on item " + d.item
		if found := exclusion(v, d.claims, r, always); found != nil {
			return found
		}
	}
	return nil
}

// duplicate: what is done is done once, and what is claimed was offered.
func (all deliveries) duplicate(v *View) []sim.Violation {
	for _, d := range all {
		for _, c := range d.claims {
			if d.offer == nil || d.offer.Call > c.Op.Return {
				return Broken("phantom", []*world.Op{c.Op},
					"%s returned item %s, which nobody had offered", v.call(c.Op), d.item)
			}
		}
		if found := d.again(v); found != nil {
			return found
		}
	}
	return nil
}

func (d *delivery) again(v *View) []sim.Violation {
	var first *world.Op
	for _, done := range d.dones {
		switch {
		case done.Outcome != world.OK:
		case first != nil:
			return Broken("duplicate", []*world.Op{first, done},
				"%s finished item %s as done at %s, and so did %s at %s, both successfully",
				Who(first), d.item, v.When(first), Who(done), v.When(done))
		default:
			first = done
		}
	}
	for _, c := range d.claims {
		if first != nil && c.Op.Call > first.Return {
			return Broken("duplicate", []*world.Op{first, c.Op},
				"%s finished item %s as done at %s, and %s returned it once more",
				Who(first), d.item, v.When(first), v.call(c.Op))
		}
	}
	return nil
}

// order: no call passes over an item that is free as long as the call lasts: neither for a later
// item, nor to say that there is none.
func (all deliveries) order(v *View) []sim.Violation {
	for _, op := range v.Ops {
		if !claiming.takes(op) || op.Outcome != world.OK || v.blurred(op) {
			continue
		}
		for _, d := range all {
			if !d.free(v, op) {
				continue
			}
			if op.Result == "" {
				return Broken("false-empty", []*world.Op{d.offer, op},
					"%s found nothing, although item %s, which %s offered at %s, was free all the time",
					v.call(op), d.item, Who(d.offer), v.When(d.offer))
			}
			if got := all.offerOf(op.Result); got != nil && d.offer.Return < got.Call {
				return Broken("order", []*world.Op{d.offer, got, op},
					"%s returned item %s, although %s, which was offered before it (%s, at %s), was free all the time",
					v.call(op), op.Result, d.item, Who(d.offer), v.When(d.offer))
			}
		}
	}
	return nil
}

func (all deliveries) offerOf(item string) *world.Op {
	for _, d := range all {
		if d.item == item {
			return d.offer
		}
	}
	return nil
}

// free reports whether the item was surely there, and unclaimed, from the call of an operation to its return.
func (d *delivery) free(v *View, during *world.Op) bool {
	if d.offer == nil || d.offer.Outcome != world.OK || d.offer.Return > during.Call {
		return false
	}
	for _, done := range d.dones {
		if done.Call < during.Return {
			return false
		}
	}
	for _, c := range d.claims {
		given := c.Release != nil && c.Release.Outcome == world.OK && c.Release.Return < during.Call
		if c.Op.Call < during.Return && !given && !v.endedBefore(c.Op.SessionAt, during.Call) {
			return false
		}
	}
	return true
}

// blurred reports whether a call may have held an item during an operation, and it is not known which: a call that
// failed, until its session has ended; and a call, be it that same operation, whose session was replaced while it
// ran, as it may have lost one claim before it got the next.
func (v *View) blurred(during *world.Op) bool {
	for i, op := range v.Ops {
		switch {
		case !claiming.takes(op) || op.Call >= during.Return:
		case op.Outcome != world.OK:
			if !v.endedBefore(op.SessionAt, during.Call) {
				return true
			}
		case op.Return > during.Call && !steady(v.Ops[:i], op):
			return true
		}
	}
	return false
}

// steady reports whether the process was not told of the end of a session while an operation ran.
func steady(before []*world.Op, op *world.Op) bool {
	told := 0
	for _, b := range before {
		if b.Return != 0 && b.Return <= op.Call && b.Client == op.Client && b.Incarnation == op.Incarnation {
			told = max(told, b.ExpiriesSeen)
		}
	}
	return told == op.ExpiriesSeen
}

// endedBefore reports whether a session had surely ended at the servers at a stamp.
func (v *View) endedBefore(session, stamp int64) bool {
	since, known := v.SessionGone(session)
	return known && since < stamp
}

// idle judges whether an item stays free for [idleMax] while a client waits for one.
func (all deliveries) idle(v *View, j *Judgement) {
	faultFree, known := v.FaultFree(0, never)
	if !j.Judges("idle", known) || faultFree < idleMax {
		return
	}
	holds := v.Holds(claiming)
	waits := func(op *world.Op) bool { return op.Name == claiming.Acquire }
	for _, op := range where(v.Ops, waits) {
		for _, moment := range v.moments(op, holds) {
			from, _ := freeUntil(moment, op.Call, holds, len(holds)+1)
			for _, d := range all {
				during := &world.Op{Call: max(from, d.freedBefore(v, moment)) + 1, Return: moment}
				faultFree, _ = v.FaultFree(during.Call, moment)
				if faultFree < idleMax || !d.free(v, during) || v.blurred(during) {
					continue
				}
				j.Add(Broken("idle", []*world.Op{d.offer, op},
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
		if c.Release != nil && c.Release.Return < moment {
			at = max(at, c.Release.Return)
		}
		if end, gone := v.SessionGone(c.Op.SessionAt); gone && end < moment {
			at = max(at, end)
		}
	}
	return at
}
