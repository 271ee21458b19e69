package sim

import (
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
)

// Variants of a stall.
const (
	stallLong  = iota // until nothing else can happen in the process
	stallShort        // until any moment
	stallVariants
)

// findStall finds users of whose goroutines it can be said which they are: those of processes without a wire.
func findStall(w *World, add func(target)) {
	w.alive(func(p *process) {
		for _, u := range p.users {
			if p.inProcess != nil && !u.done && !p.inProcess.Stalled(u.Index) {
				add(target{client: p.id, user: u.Index, variants: stallVariants})
			}
		}
	})
}

func strikeStall(w *World, t target, variant int) {
	p := w.procs[t.client]
	what := "goroutines stand still: what comes for them lies in their channels"
	if len(p.users) > 1 {
		what = w.says("u%d's %s", t.user+1, what)
	}
	w.noteFault(Stall, t.client, "", what).User = t.user
	p.inProcess.Stall(t.user)
	p.users[t.user].stalledLong = variant == stallLong
	w.strikes(Stall.index(), -1) // it counts when something comes
}

// comesLate is told of what has come for a goroutine that is stalled.
func (w *World) comesLate(p *process, told fakezk.Told) {
	w.strikes(Stall.index(), 1)
	if w.trace != nil {
		s := w.noteFault(Stall, p.id, "", describe(told)+" lies in its channel")
		s.User, s.Lies = told.User, lyingOf(told)
	}
}

// cancelsLate ends the context of an operation whose user's goroutines are stalled. It is false if they are not.
func (w *World) cancelsLate(op *Op) bool {
	p := op.user.process
	if p.inProcess == nil || !p.inProcess.Stalled(op.User) {
		return false
	}
	op.ctx.endLate()
	w.strikes(Stall.index(), 1)
	s := w.noteFault(Stall, p.id, "", "the context of "+op.Name+" ends, and those who wait for that do not know")
	s.User, s.Lies.Context = op.User, true
	return true
}

// tellsLate gives a stalled goroutine something that has come for it. Until all goroutines wait again what its user does is
// done by what the client knew when it came.
func (w *World) tellsLate(p *process, reader int) {
	told := p.inProcess.Oldest(reader)
	w.toldTo(p.id).add(toldLate, int64(told.Hash()))
	w.fold(uint64(told.User)<<32 | uint64(uint32(told.Event.Type)))
	w.foldString(told.Event.Path)
	if w.trace != nil {
		s := w.noteHealed(Stall, p.id, describe(told)+" reaches its goroutine")
		s.User, s.Lies = told.User, lyingOf(told)
	}
	if told.Err == zk.ErrSessionExpired || told.Event.Err == zk.ErrSessionExpired {
		p.users[told.User].learns(p.expiriesBefore + told.Knew.Expiries)
	}
	p.toldLate, p.telling = w.step, &told
	p.inProcess.Tell(reader)
	p.telling = nil
	w.endStalls(p)
}

// endsLate tells those who wait for the end of an operation's context, which has ended before.
func (w *World) endsLate(p *process, user int) {
	op := p.users[user].op
	s := w.noteHealed(Stall, p.id, "the end of the context of "+op.Name+" reaches those who wait for it")
	s.User, s.Lies.Context = user, true
	w.endContext(op)
	w.endStalls(p)
}

// endStalls lets the goroutines of a process run again if nothing is left that has come for them.
func (w *World) endStalls(p *process) {
	if len(w.late(p, nil, false)) == 0 {
		p.inProcess.EndStalls()
	}
}

// collectLate lists what lies in the channels of stalled goroutines.
func (w *World) collectLate(p *process) {
	if p.inProcess == nil || !p.inProcess.StallsAny() {
		return
	}
	busy := slices.ContainsFunc(w.actions, func(a action) bool {
		return a.client == p.id && (a.kind < actApply || a.kind == actTell)
	})
	w.actions = w.late(p, w.actions, busy)
}

// late adds what may be told next. busy tells that something else can happen in the process.
func (w *World) late(p *process, actions []action, busy bool) []action {
	p.inProcess.LetLie()
	for i := range p.inProcess.Readers() {
		if p.inProcess.Late(i) && !(busy && p.users[p.inProcess.Oldest(i).User].stalledLong) {
			actions = append(actions, action{actTellLate, p.id, i})
		}
	}
	for _, u := range p.users {
		if u.op != nil && u.op.ctx.isLate() && !(busy && u.stalledLong) {
			actions = append(actions, action{actEndLate, p.id, u.Index})
		}
	}
	return actions
}

// healStalls tells all that has come for stalled goroutines.
func (w *World) healStalls(p *process) {
	if p.inProcess == nil || p.crashed {
		return
	}
	for late := w.late(p, nil, false); len(late) > 0; late = w.late(p, nil, false) {
		w.perform(late[0])
	}
	p.inProcess.EndStalls()
}

// lyingOf is what a goroutine is told.
func lyingOf(told fakezk.Told) Lying {
	if told.Call == nil {
		return Lying{Path: told.Event.Path, Type: told.Event.Type}
	}
	return Lying{Op: requestName(told.Call.Request.Op), Path: requestPath(&told.Call.Request)}
}

// describe says in words what a goroutine is told.
func describe(told fakezk.Told) string {
	switch {
	case told.Call == nil && told.Event.Type == zk.EventNotWatching:
		return "the end of the watch on " + told.Event.Path
	case told.Call == nil:
		return strings.TrimSpace("the event " + eventName(told.Event.Type) + " " + told.Event.Path)
	case told.Err == zk.ErrConnectionClosed:
		return "that " + requestName(told.Call.Request.Op) + " " + requestPath(&told.Call.Request) + " lost its connection"
	}
	return "the answer to " + requestName(told.Call.Request.Op) + " " + requestPath(&told.Call.Request)
}
