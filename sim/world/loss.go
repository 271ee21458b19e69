package world

import (
	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/sim/internal/line"
)

func init() {
	faultTable[Loss.Index()] = fault{
		name: "loss",
		help: "the connection breaks; a request in flight, or a handshake, is lost before or after it was applied",
		find: findLoss, strike: strikeLoss,
		then: Loss | Expiry | Lag | Cancel, // a lost reply, then a server that is behind
	}
}

// loss is a way in which a connection breaks.
type loss uint8

const (
	lossAfter  loss = iota // the request in flight was applied, its reply is lost
	lossBefore             // the request in flight is lost
	lossRaw                // lost while it was written: the caller sees a bare net error
	lossIdle               // no request is in flight
	lossUnsent             // there is no connection, and no server can be reached
	lossAnswer             // of a server that has begun a session: the client will begin another

	// Over the wire only:
	lossReset    // the client finds out when it writes next
	lossMute     // what the client sends does not arrive any more, and nobody tells it
	lossDeaf     // what the server sends does not arrive any more
	lossRefuse   // a dial is refused
	lossHalfOpen // a dial succeeds, and nothing comes
)

// The variants in which the connection of a client can break, by what it is about.
var (
	lossesOfRequest = []loss{lossAfter, lossBefore, lossRaw}
	lossesIdle      = []loss{lossIdle}
	lossesUnsent    = []loss{lossUnsent}
	lossesOfSession = []loss{lossAnswer}
	lossesUnsentNew = []loss{lossUnsent, lossAnswer}

	lossesOfFrame = []loss{lossAfter, lossBefore, lossReset, lossMute, lossDeaf}
	lossesOfLine  = []loss{lossIdle, lossReset, lossMute, lossDeaf}
	lossesOfDial  = []loss{lossRefuse, lossHalfOpen}
	lossesOfNew   = []loss{lossRefuse, lossHalfOpen, lossAnswer}
)

const noServer = "no server can be reached: queued requests fail with ErrNoServer"

// errClosed is what requests in flight fail with when their connection breaks.
var errClosed = zk.ErrConnectionClosed

func findLoss(w *World, add func(Target)) {
	w.eachClient(func(p *process, i int, c client) {
		if losses := c.Losses(); len(losses) > 0 {
			add(Target{client: p.id, user: i, variants: len(losses)})
		}
	})
}

// lossOf is a variant of the loss of a client's connection.
func lossOf(w *World, c client, variant int) loss {
	kind := c.Losses()[variant]
	if kind == lossAfter && w.atDeposed(c) {
		return lossBefore // nothing is applied there
	}
	return kind
}

func strikeLoss(w *World, t Target, variant int) {
	p, c := w.targeted(t)
	kind := lossOf(w, c, variant)
	if kind != lossUnsent && kind < lossMute {
		p.held = false
	}
	switch kind {
	case lossAfter:
		w.noteFault(Loss, p.id, "", "").loses(w, LostReply, c.Sent(), "is applied, its reply is lost")
		p.carryOut(c)
		c.Break(errClosed)
	case lossBefore:
		w.noteFault(Loss, p.id, "", "").loses(w, LostRequest, c.Sent(), "is lost before it is applied")
		c.Break(errClosed)
	case lossRaw:
		w.noteFault(Loss, p.id, "", "").loses(w, LostRequest, c.Sent(), "is lost while it is written: connection reset")
		c.Break(line.ErrReset)
	case lossIdle:
		w.noteFault(Loss, p.id, "", "the connection breaks")
		c.Break(errClosed)
	case lossUnsent:
		w.noteFault(Loss, p.id, "", noServer).Unsent = true
		c.BreakUnsent()
	case lossAnswer:
		p.loseAnswer(c)
	default:
		strikeWire(w, p, c.(*wireClient), kind)
	}
}

// loseAnswer lets a client without a session connect, and loses the answer: the session that the server has begun lives on
// until it runs out, and the client knows nothing of it.
func (p *process) loseAnswer(c client) {
	w := p.world
	switch {
	case w.outage.now:
		w.noteFault(Loss, p.id, "", noServer).Unsent = true
		c.BreakUnsent()
		return
	case !c.Knock():
		w.noteFault(Loss, p.id, "", "the connection breaks before a handshake")
		c.Break(errClosed)
		return
	}
	replica := w.choose(w.replicas, LabelReplica)
	p.drawLag(c, replica)
	session, err := c.DialInVain(w.now(), replica)
	w.fold(uint64(session))
	if err != nil {
		w.noteFault(Loss, p.id, "", w.says("server %d begins no session", replica))
		return
	}
	what := w.says("server %d begins session 0x%x, its answer is lost: the client will begin another", replica, session)
	w.noteFault(Loss, p.id, "", what).Vain = session
}

// strikeWire carries out a loss that only connections over the wire can have.
func strikeWire(w *World, p *process, c *wireClient, kind loss) {
	note := func(what string) {
		s := w.noteFault(Loss, p.id, "", what)
		s.Silent = kind != lossRefuse
		if c.Sent() != nil && kind != lossDeaf {
			s.loses(w, LostRequest, c.Sent(), "is lost: "+what)
		}
	}
	switch kind {
	case lossReset:
		note("the connection is reset, which the client will notice when it writes")
		c.Break(line.ErrReset)
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

// Ways in which a process begins.
const (
	beginConnected   = iota
	BeginUnconnected // requests wait for a connection, and so for a session
	BeginAlone       // no server can be reached at first: the first requests fail
	BeginVariants
)

// begin draws how a process begins: mostly with a connection.
func (p *process) begin() int {
	w := p.world
	if w.liveness || !w.faults.Has(Loss) {
		return beginConnected
	}
	how := max(0, w.choose(2*BeginVariants, LabelUnconnected)-BeginVariants)
	if how != beginConnected {
		w.fold(uint64(how))
		w.strikes(Loss.Index(), 1)
		what := "begins without a connection"
		if how == BeginAlone {
			what += ", and cannot reach any server"
		}
		w.noteFault(Loss, p.id, "", what).Unsent = how == BeginAlone
	}
	return how
}
