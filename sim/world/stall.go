package world

import (
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
)

func init() {
	faultTable[Stall.Index()] = fault{
		name: "stall",
		help: "the goroutines of one user do not run: a reply, an event or a cancellation waits in its channel while others go on",
		find: findStall, strike: strikeStall,
		ofUser: true,
		then:   Loss | Expiry | Cancel, // what is told first came later
	}
}

// Variants of a stall.
const (
	stallLong  = iota // until nothing else can happen in the process
	StallShort        // until any moment
	stallVariants
)

// findStall finds users of whose goroutines it can be said which they are: those of processes without a wire.
func findStall(w *World, add func(Target)) {
	w.alive(func(p *process) {
		for _, u := range p.users {
			if p.inProcess != nil && !u.done && !p.inProcess.Stalled(u.Index) {
				add(Target{client: p.id, user: u.Index, variants: stallVariants})
			}
		}
	})
}

func strikeStall(w *World, t Target, variant int) {
	p := w.procs[t.client]
	who := "its"
	if len(p.users) > 1 {
		who = w.says("u%d's", t.user+1)
	}
	w.noteFault(Stall, t.client, "", w.says("%s goroutines are paused; replies and events queue up", who)).User = t.user
	p.inProcess.Stall(t.user)
	p.users[t.user].stalledLong = variant == stallLong
	w.strikes(Stall.Index(), -1) // it counts when something comes
}

// comesLate is told of what has come for a goroutine that is stalled.
func (p *process) comesLate(told goclient.Told) {
	w := p.world
	w.strikes(Stall.Index(), 1)
	if w.trace != nil {
		w.noteFault(Stall, p.id, "", describe(told)+" has arrived but is not read yet").User = told.User
	}
}

// cancelsLate ends the context of an operation whose user's goroutines are stalled. It is false if they are not.
func cancelsLate(w *World, op *Op) bool {
	p := op.user.process
	if p.inProcess == nil || !p.inProcess.Stalled(op.User) {
		return false
	}
	op.ctx.EndLate()
	w.strikes(Stall.Index(), 1)
	w.noteFault(Stall, p.id, "", "the context of "+op.Name+" has ended, but that is not seen yet").User = op.User
	return true
}

// tellsLate gives a stalled goroutine something that has come for it. Until all goroutines wait again what its user does is
// done by what the client knew when it came.
func (p *process) tellsLate(reader int) {
	w := p.world
	told := p.inProcess.Oldest(reader)
	w.fold(uint64(told.User)<<32 | uint64(uint32(told.Event.Type)))
	w.foldString(told.Event.Path)
	if w.trace != nil {
		w.noteHealed(Stall, p.id, describe(told)+" is read").User = told.User
	}
	if told.Err == zk.ErrSessionExpired || told.Event.Err == zk.ErrSessionExpired {
		p.users[told.User].learns(p.expiriesBefore + told.Knew.Expiries)
	}
	p.toldLate = w.step
	p.telling.Store(&told)
	p.inProcess.Tell(reader)
	p.telling.Store(nil)
	p.endStalls()
}

// seesEnd is told that a user's goroutine has seen that the session is another one. Not that which is given something late:
// it did not ask before.
func (p *process) seesEnd(user int) {
	if telling := p.telling.Load(); telling == nil || telling.User != user {
		p.users[user].sees.Store(true)
	}
}

// learnSeen notes which users have seen that a session of their process has ended.
func learnSeen(w *World) {
	for _, p := range w.procs {
		for _, u := range p.users {
			if u.sees.Swap(false) {
				u.hears(len(p.expiriesSeen))
			}
		}
	}
}

// endsLate tells those who wait for the end of an operation's context, which has ended before.
func (p *process) endsLate(user int) {
	w := p.world
	op := p.users[user].op
	w.noteHealed(Stall, p.id, "the end of the context of "+op.Name+" is seen").User = user
	endContext(w, op)
	p.endStalls()
}

// endStalls lets the goroutines of a process run again if nothing is left that has come for them.
func (p *process) endStalls() {
	if len(p.late(nil, false)) == 0 {
		p.inProcess.EndStalls()
	}
}

// letLie has what came for stalled goroutines that wait no more lie in their channels.
func letLie(w *World) {
	for _, p := range w.procs {
		if p.inProcess != nil && !p.paused && !p.crashed {
			p.inProcess.LetLie()
		}
	}
}

// collectLate lists what lies in the channels of stalled goroutines.
func (p *process) collectLate() {
	w := p.world
	if p.inProcess == nil || !p.inProcess.StallsAny() {
		return
	}
	busy := slices.ContainsFunc(w.actions, func(a Action) bool {
		return a.Client == p.id && (a.Kind < ActApply || a.Kind == ActTell)
	})
	w.actions = p.late(w.actions, busy)
}

// late adds what may be told next. busy tells that something else can happen in the process.
func (p *process) late(actions []Action, busy bool) []Action {
	p.inProcess.LetLie()
	for i := range p.inProcess.Readers() {
		if p.inProcess.Late(i) && !(busy && p.users[p.inProcess.Oldest(i).User].stalledLong) {
			actions = append(actions, Action{ActTellLate, p.id, i})
		}
	}
	for _, u := range p.users {
		if u.op != nil && u.op.ctx.IsLate() && !(busy && u.stalledLong) {
			actions = append(actions, Action{ActEndLate, p.id, u.Index})
		}
	}
	return actions
}

// healStalls tells all that has come for stalled goroutines.
func (p *process) healStalls() {
	w := p.world
	if p.inProcess == nil || p.crashed {
		return
	}
	for late := p.late(nil, false); len(late) > 0; late = p.late(nil, false) {
		w.perform(late[0])
	}
	p.inProcess.EndStalls()
}

// describe says in words what a goroutine is told.
func describe(told goclient.Told) string {
	switch {
	case told.Call == nil && told.Event.Type == zk.EventNotWatching:
		return "the end of the watch on " + told.Event.Path
	case told.Call == nil:
		return strings.TrimSpace("the event " + eventName(told.Event.Type) + " " + told.Event.Path)
	case told.Err == zk.ErrConnectionClosed:
		return "that " + RequestName(told.Call.Request.Op) + " " + requestPath(&told.Call.Request) + " failed with its connection"
	}
	return "the reply to " + RequestName(told.Call.Request.Op) + " " + requestPath(&told.Call.Request)
}
