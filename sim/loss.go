package sim

import (
	"net"
	"os"
	"syscall"

	"github.com/go-zookeeper/zk"
)

// loss is a way in which a connection breaks.
type loss uint8

const (
	lossAfter  loss = iota // the request in flight was applied, its reply is lost
	lossBefore             // the request in flight is lost
	lossRaw                // lost while it was written: the caller sees a bare net error
	lossIdle               // no request is in flight
	lossUnsent             // there is no connection, and no server can be reached
)

// The ways in which the connection of a client can break, by what it is about.
var (
	lossesOfRequest = []loss{lossAfter, lossBefore, lossRaw}
	lossesIdle      = []loss{lossIdle}
	lossesUnsent    = []loss{lossUnsent}
)

const noServer = "no server can be reached: queued requests fail with ErrNoServer"

// errClosed is what requests in flight fail with when their connection breaks.
var errClosed = zk.ErrConnectionClosed

// errReset is what go-zookeeper returns, raw, when a write finds the connection reset.
var errReset error = &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.ECONNRESET)}

func findLoss(w *World, add func(target)) {
	w.eachClient(func(p *process, i int, c client) {
		if losses := c.Losses(); len(losses) > 0 {
			add(target{client: p.id, user: i, variants: len(losses)})
		}
	})
}

func strikeLoss(w *World, t target, variant int) {
	p, c := w.targeted(t)
	kind := c.Losses()[variant]
	if kind != lossUnsent {
		p.held = false
	}
	if kind == lossAfter && w.atDeposed(c) {
		kind = lossBefore // nothing is applied there
	}
	switch kind {
	case lossAfter:
		w.noteFault(Loss, p.id, "", "").loses(w, LostReply, c.Sent(), "is applied, its reply is lost")
		w.carryOut(c)
		c.Break(errClosed)
	case lossBefore:
		w.noteFault(Loss, p.id, "", "").loses(w, LostRequest, c.Sent(), "is lost before it is applied")
		c.Break(errClosed)
	case lossRaw:
		w.noteFault(Loss, p.id, "", "").loses(w, LostRequest, c.Sent(), "is lost while it is written: connection reset")
		c.Break(errReset)
	case lossIdle:
		w.noteFault(Loss, p.id, "", "the connection breaks")
		c.Break(errClosed)
	case lossUnsent:
		w.noteFault(Loss, p.id, "", noServer).Unsent = true
		c.BreakUnsent()
	}
}
