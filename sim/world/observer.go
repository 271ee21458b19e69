package world

import (
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// Observer watches the runs of a world: for coverage, for a search of all executions, for a [Source] that looks before it
// chooses. It changes nothing but by what it chooses, if it is the run's source, too. It may give the run up: [GiveUp].
//
// The world calls it on the goroutine of its loop. Who does not want to know everything embeds [Blind].
type Observer interface {
	// Begins is called when the world is new, Planned when its episode is drawn, of which the first choices, so many, were
	// made by the world, and the others by the workload.
	Begins(w *View)
	Planned(w *View, drawn int)
	// Turns is called at the begin of each turn of the loop, and Arrives, in the torture phase, when the world has come to a
	// state in which something is to be chosen.
	Turns(w *View)
	Arrives(w *View)
	// Chooses is called before choices of these labels: [LabelSwarm], once, for the first of them; [LabelFault]; and
	// [LabelNext], also if there is one action only and so nothing to choose.
	Chooses(w *View, label string)
	// Happens is called before something happens, and Struck after it if it was the strike of a fault.
	Happens(w *View, d Event)
	Struck(w *View)
	// Connects is called when it has been drawn how a client connects: in which of the variants of a fault that it meets then, -1
	// for none. That is Lag, or Loss for a process that begins. The operation is the one that
	// is under way at the client, "" for none.
	Connects(operation string, f Faults, variant int)
	// Serves is called when a server has carried out a request of a client, for an operation, "" for none.
	Serves(w *View, client int, operation string, call *goclient.Call)
}

// Blind is an [Observer] that sees nothing.
type Blind struct{}

func (Blind) Begins(*View)                              {}
func (Blind) Planned(*View, int)                        {}
func (Blind) Turns(*View)                               {}
func (Blind) Arrives(*View)                             {}
func (Blind) Chooses(*View, string)                     {}
func (Blind) Happens(*View, Event)                      {}
func (Blind) Struck(*View)                              {}
func (Blind) Connects(string, Faults, int)              {}
func (Blind) Serves(*View, int, string, *goclient.Call) {}

// observe shows something to all who watch.
func (w *World) observe(show func(Observer)) {
	for _, o := range w.observers {
		show(o)
	}
}

// View is a world as sources and observers see it: what is, what could happen next, and where faults could strike.
type View World

func (w *World) view() *View { return (*View)(w) }

// Servers is the fake ensemble: the truth about znodes, sessions and watches.
func (w *View) Servers() *fakezk.Ensemble { return w.servers }

// Changes are what was committed, in order.
func (w *View) Changes() []Change { return w.changes }

// Collect lists what can happen next.
func (w *View) Collect() { (*World)(w).collect() }

// What a source may see before it lets a fault strike.

// Site is where a fault could strike now.
type Site struct {
	Fault        Faults
	Kind, Target int // see strikePlan
	Variants     int
	Client       int // whom it strikes, -1 if no client in particular
}

// Sites lists where faults could strike now.
func (w *View) Sites(all []Site) []Site {
	for kind, f := range w.Striking() {
		for number, t := range targetsOf((*World)(w), f) {
			all = append(all, Site{f, kind, number, t.variants, w.Victim(f, t)})
		}
	}
	return all
}

// Victim is the client that a fault strikes, -1 if none in particular.
func (w *View) Victim(fault Faults, t Target) int {
	client := t.client
	if victim := faultTable[fault.Index()].victim; victim != nil {
		client = victim(w, t)
	}
	if client >= len(w.procs) {
		client = -1
	}
	return max(client, -1)
}

// SentBy is the request of a client that is on its way to a server; nil if there is none.
func (w *View) SentBy(client int) *goclient.Call {
	if client < 0 {
		return nil
	}
	if c := w.procs[client].sends(); c != nil {
		return c.Sent()
	}
	return nil
}

// Asks reports whether a request of a client is on its way in a session that lives.
func (w *View) Asks(client int) bool {
	c := w.procs[client].sends()
	return c != nil && w.servers.Alive(c.Session())
}

// Decisive reports whether something depends on what becomes of a client now: it is about to use
// what the recipe gave it; or its request and another client's are on their way to one znode; or it
// writes by what it has just read; or what it wrote is done, and it does not know yet.
func (w *View) Decisive(victim int) bool {
	if victim < 0 {
		return false
	}
	for _, call := range w.outside {
		if call.user.process.id == victim {
			return true
		}
	}
	call := w.SentBy(victim)
	if call == nil {
		return slices.ContainsFunc(w.procs[victim].clients, func(c client) bool { return c.Waiting() > 0 })
	}
	for other := range w.procs {
		if c := w.SentBy(other); other != victim && c != nil && conflict(&call.Request, &c.Request) {
			return true
		}
	}
	return w.last == victim && !reads(call.Request.Op)
}

// AnyDecisive reports whether that holds for any client.
func (w *View) AnyDecisive() bool {
	for client := range w.procs {
		if w.Decisive(client) {
			return true
		}
	}
	return false
}

// LiesLate reports whether anything lies in the channels of a client's stalled goroutines.
func (w *View) LiesLate(client int) bool {
	p := w.procs[client].inProcess
	return p.StallsAny() && p.Readers() > 0 && p.Late(p.Readers()-1)
}

// Unconnected reports whether a client is about to connect.
func (w *View) Unconnected(number int) bool {
	p := w.procs[number]
	return !p.crashed && slices.ContainsFunc(p.clients, func(c client) bool {
		_, connected := c.Connected()
		return !connected
	})
}

// UnseenServer reports whether how far a server is behind will be drawn when a client connects to it.
func (w *View) UnseenServer(replica int) bool { return w.lag[replica] == unseen }

// Placed is a fault, in one of its variants, at a place of an operation of the recipe.
type Placed struct {
	Fault     Faults
	Variant   uint8
	Place     Whereabouts // of the request, or what the client does without one
	Operation string      // of the recipe; "" between operations
	Request   wire.Op     // that is under way; 0 if none is
}

// Whereabouts is a place of a request, or of a client that has none under way.
type Whereabouts uint8

// The places of a request, and of a client that has none under way.
const (
	placeIdle     Whereabouts = iota
	placeUnsent               // it waits for a connection
	placeOnWay                // it has not reached its server
	placeAnswered             // the server has carried it out, and the reply has not reached the client
	placeWatching             // a watch is to tell the client when to go on
	placeDial                 // the client connects
	placeStart                // the process begins
)

// placeNames are in words where a request is.
var placeNames = [...]string{
	"idle", "before it is sent", "on its way", "carried out, not answered", "waiting with a watch", "connecting", "beginning",
}

var (
	beginVariants = []uint8{variantUnconnected, variantAlone}
	connectLags   = []uint8{lagSlow, lagStuck}
)

// VariantName is the name of a variant of a fault, "" if there is but one.
func (f Faults) VariantName(variant uint8) string {
	switch names := faultTable[f.Index()].names; {
	case int(variant) < len(names):
		return names[variant]
	case variant > 0:
		return fmt.Sprintf("variant %d", variant)
	}
	return ""
}

func (p Whereabouts) String() string { return placeNames[p] }

// ConnectVariants are those in which a process meets a fault when it connects: it begins without a connection, or its server lags.
func ConnectVariants(f Faults) (Whereabouts, []uint8) {
	if f == Lag {
		return placeDial, connectLags
	}
	return placeStart, beginVariants
}

// NotStruck is no variant.
const NotStruck = -1

// Placements shows what a fault finds at a target, of each process that it concerns: the variants in which it could strike, of
// which it does one if struck is a variant.
func (w *View) Placements(f Faults, t Target, struck int, show func(p Placed, struck bool)) {
	at := func(p *process, c client) { w.placementsAt(f, w.under(p, c), c, t.variants, struck, show) }
	switch {
	case f == Lag && t.client < w.replicas:
		(*World)(w).eachClient(func(p *process, _ int, c client) {
			if server, connected := c.Connected(); connected && server == t.client {
				at(p, c)
			}
		})
	case f == Lag:
		p := w.procs[t.client-w.replicas]
		e := w.under(p, p.clients[t.user])
		e.Fault, e.Variant = f, variantMoves
		show(e, struck != NotStruck)
	case w.Victim(f, t) < 0: // of no process in particular
		(*World)(w).alive(func(p *process) { at(p, p.first()) })
	case faultTable[f.Index()].ofUser:
		p := w.procs[t.client]
		w.placementsAt(f, w.underUser(p, p.first(), t.user), p.first(), t.variants, struck, show)
	default:
		p := w.procs[t.client]
		c := p.first()
		if t.user < len(p.clients) {
			c = p.clients[t.user]
		}
		at(p, c)
	}
}

func (w *View) placementsAt(f Faults, p Placed, c client, variants, struck int, show func(p Placed, struck bool)) {
	p.Fault = f
	for v := range variants {
		if p.Variant = uint8(v); f == Loss {
			p.Variant = uint8(lossOf((*World)(w), c, v))
		}
		show(p, v == struck)
	}
}

// first is the client of the process that began first, nil if none has.
func (p *process) first() client {
	if len(p.clients) == 0 {
		return nil
	}
	return p.clients[0]
}

// under says what is under way at a client, which may be nil.
func (w *View) under(p *process, c client) Placed {
	if c == nil {
		return Placed{Place: placeIdle, Operation: p.operation()}
	}
	switch sent, waits, queued := c.Sent(), c.Unanswered(), c.Queued(); {
	case sent != nil:
		return p.placed(sent, placeOnWay)
	case waits != nil:
		return p.placed(waits, placeAnswered)
	case queued != nil:
		return p.placed(queued, placeUnsent)
	case c.Watches() > 0:
		return Placed{Place: placeWatching, Operation: p.operation()}
	}
	return Placed{Place: placeIdle, Operation: p.operation()}
}

// underUser says what is under way for one user of a client.
func (w *View) underUser(p *process, c client, user int) Placed {
	e, mine := w.under(p, c), ""
	if op := p.opOf(user); op != nil {
		mine = op.Name
	}
	if e.Request == 0 || e.Operation != mine {
		e.Operation, e.Request = mine, 0
		if e.Place = placeIdle; c != nil && c.Watches() > 0 {
			e.Place = placeWatching
		}
	}
	return e
}

// placed says that a request is at a place.
func (p *process) placed(call *goclient.Call, place Whereabouts) Placed {
	return Placed{Place: place, Operation: p.asker(call), Request: call.Request.Op}
}

// asker is the operation on whose behalf a request is sent, "" if none is: the client's own, and those of goroutines that
// go on after their operation has returned.
func (p *process) asker(call *goclient.Call) string {
	if op := p.opOf(call.User); op != nil && op.Number == call.Tag {
		return op.Name
	}
	return ""
}

// operation is that of the first user of the process that has one under way, "" if there is none.
func (p *process) operation() string {
	for _, u := range p.users {
		if u.op != nil {
			return u.op.Name
		}
	}
	return ""
}

// Believed reports whether a living process believes to have a session.
func (w *View) Believed(session int64) bool {
	for _, p := range w.procs {
		for _, c := range p.clients {
			if !p.crashed && c.Session() == session {
				return true
			}
		}
	}
	return false
}
