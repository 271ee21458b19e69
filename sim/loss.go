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

	// Over the wire only:
	lossReset    // the client finds out when it writes next
	lossMute     // what the client sends does not arrive any more, and nobody tells it
	lossDeaf     // what the server sends does not arrive any more
	lossRefuse   // a dial is refused
	lossHalfOpen // a dial succeeds, and nothing comes
)

// The ways in which the connection of a client can break, by what it is about.
var (
	lossesOfRequest = []loss{lossAfter, lossBefore, lossRaw}
	lossesIdle      = []loss{lossIdle}
	lossesUnsent    = []loss{lossUnsent}

	lossesOfFrame = []loss{lossAfter, lossBefore, lossReset, lossMute, lossDeaf}
	lossesOfLine  = []loss{lossIdle, lossReset, lossMute, lossDeaf}
	lossesOfDial  = []loss{lossRefuse, lossHalfOpen}
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
	if kind != lossUnsent && kind < lossMute {
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
	default:
		strikeWire(w, p, c.(*wireClient), kind)
	}
}

// strikeWire carries out a loss that only connections over the wire can have.
func strikeWire(w *World, p *process, c *wireClient, kind loss) {
	note := func(what string) {
		if s := w.noteFault(Loss, p.id, "", what); c.Sent() != nil && kind != lossDeaf {
			s.loses(w, LostRequest, c.Sent(), "is lost: "+what)
		}
	}
	switch kind {
	case lossReset:
		note("the connection is reset, which the client will notice when it writes")
		c.Break(errReset)
	case lossMute:
		note("what the client sends gets lost from here on, silently")
		c.mute()
	case lossDeaf:
		note("what the server sends gets lost from here on, silently")
		c.deafen()
	case lossRefuse:
		note("a dial is refused")
		c.refuse()
	case lossHalfOpen:
		note("a dial succeeds, and nothing else comes through")
		c.stall()
	}
}
