package world

func init() {
	faultTable[Cancel.Index()] = fault{
		name: "cancel",
		help: "a caller gives up (its context ends) at any moment",
		find: findCancel, strike: strikeCancel,
		ofUser: true,
		then:   Loss | Expiry, // what is to be cleaned up stays
	}
}

func findCancel(w *World, add func(Target)) {
	w.alive(func(p *process) {
		for _, u := range p.users {
			if u.op != nil && u.op.cancelable && !u.op.Cancelled {
				add(Target{client: p.id, user: u.Index, variants: 1})
			}
		}
	})
}

func strikeCancel(w *World, t Target, _ int) {
	op := w.procs[t.client].users[t.user].op
	w.noteFault(Cancel, t.client, "", "the caller of "+op.Name+" gives up").User = t.user
	w.Cancel(op)
}

// Cancel ends the context of a running operation.
func (w *World) Cancel(op *Op) {
	op.Cancelled = true
	if !cancelsLate(w, op) {
		endContext(w, op)
	}
}

func endContext(w *World, op *Op) {
	op.ctx.End(func() { op.user.process.wake(w, op.User) })
}
