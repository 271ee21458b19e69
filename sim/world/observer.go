package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk/goclient"
)

// Observer watches the runs of a world: for coverage, for a search of all executions, for a [Source] that looks before it
// chooses. It changes nothing but by what it chooses, if it is the run's source, too. It may give the run up: [GiveUp].
//
// The world calls it on the goroutine of its loop. Who does not want to know everything embeds [Blind].
type Observer interface {
	// Turns is called at the begin of each turn of the loop.
	Turns(w *World)
	// Chooses is called before choices of these labels: [LabelSwarm], once, for the first of them; [LabelFault]; and
	// [LabelNext], also if there is one action only and so nothing to choose.
	Chooses(w *World, label string)
	// Happens is called before something happens.
	Happens(w *World, d Event)
}

// Blind is an [Observer] that sees nothing.
type Blind struct{}

func (Blind) Turns(*World)           {}
func (Blind) Chooses(*World, string) {}
func (Blind) Happens(*World, Event)  {}

// observe shows something to all who watch.
func (w *World) observe(show func(Observer)) {
	for _, o := range w.observers {
		show(o)
	}
}

// What a source may see before it lets a fault strike.

// Site is where a fault could strike now.
type Site struct {
	Fault        Faults
	Kind, Target int // see strikePlan
	Variants     int
	Client       int // whom it strikes, -1 if no client in particular
}

// Sites lists where faults could strike now.
func (w *World) Sites(all []Site) []Site {
	for kind, f := range w.Striking() {
		for number, t := range targetsOf(w, f) {
			all = append(all, Site{f, kind, number, t.variants, w.Victim(f, t)})
		}
	}
	return all
}

// Victim is the client that a fault strikes, -1 if none in particular.
func (w *World) Victim(fault Faults, t Target) int {
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
func (w *World) SentBy(client int) *goclient.Call {
	if client < 0 {
		return nil
	}
	if c := w.procs[client].sends(); c != nil {
		return c.Sent()
	}
	return nil
}

// Asks reports whether a request of a client is on its way in a session that lives.
func (w *World) Asks(client int) bool {
	c := w.procs[client].sends()
	return c != nil && w.servers.Alive(c.Session())
}

// Decisive reports whether something depends on what becomes of a client now: it is about to use
// what the recipe gave it; or its request and another client's are on their way to one znode; or it
// writes by what it has just read; or what it wrote is done, and it does not know yet.
func (w *World) Decisive(victim int) bool {
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
func (w *World) AnyDecisive() bool {
	for client := range w.procs {
		if w.Decisive(client) {
			return true
		}
	}
	return false
}

// LiesLate reports whether anything lies in the channels of a client's stalled goroutines.
func (w *World) LiesLate(client int) bool {
	p := w.procs[client].inProcess
	return p.StallsAny() && p.Readers() > 0 && p.Late(p.Readers()-1)
}

// Unconnected reports whether a client is about to connect.
func (w *World) Unconnected(number int) bool {
	p := w.procs[number]
	return !p.crashed && slices.ContainsFunc(p.clients, func(c client) bool {
		_, connected := c.Connected()
		return !connected
	})
}

// UnseenServer reports whether how far a server is behind will be drawn when a client connects to it.
func (w *World) UnseenServer(replica int) bool { return w.lag[replica] == unseen }

// Way is a way for a fault to hit the recipe: during which operation, and with which of its requests under way.
type Way struct {
	Fault     string // by name
	Operation string // of the recipe; "" between operations
	Request   string // that is under way; "" if none is
}

// MarshalText writes a way for JSON: its fields in their order, with | between them.
func (w Way) MarshalText() ([]byte, error) {
	return []byte(w.Fault + "|" + w.Operation + "|" + w.Request), nil
}

// UnmarshalText reads what [Way.MarshalText] writes.
func (w *Way) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), "|")
	if len(parts) != 3 {
		return fmt.Errorf("world: %q is no way for a fault to hit a recipe: fault|operation|request is", text)
	}
	*w = Way{parts[0], parts[1], parts[2]}
	return nil
}

// Ways shows what a fault finds at a target, of each process that it concerns.
func (w *World) Ways(f Faults, t Target, show func(Way)) {
	at := func(p *process, c client) { show(p.way(f, c)) }
	switch {
	case f == Lag && t.client < w.replicas:
		w.eachClient(func(p *process, _ int, c client) {
			if server, connected := c.Connected(); connected && server == t.client {
				at(p, c)
			}
		})
	case f == Lag:
		p := w.procs[t.client-w.replicas]
		at(p, p.clients[t.user])
	case w.Victim(f, t) < 0: // of no process in particular
		w.alive(func(p *process) { at(p, p.first()) })
	case faultTable[f.Index()].ofUser:
		p := w.procs[t.client]
		show(p.wayOfUser(f, p.first(), t.user))
	default:
		p := w.procs[t.client]
		c := p.first()
		if t.user < len(p.clients) {
			c = p.clients[t.user]
		}
		at(p, c)
	}
}

// first is the client of the process that began first, nil if none has.
func (p *process) first() client {
	if len(p.clients) == 0 {
		return nil
	}
	return p.clients[0]
}

// way is what a fault finds at a client, which may be nil.
func (p *process) way(f Faults, c client) Way {
	if c != nil {
		if call := cmp.Or(c.Sent(), c.Unanswered(), c.Queued()); call != nil {
			return Way{f.String(), p.asker(call), RequestName(call.Request.Op)}
		}
	}
	return Way{Fault: f.String(), Operation: p.operation()}
}

// wayOfUser is what a fault of one user of a client finds there: only requests of that user's operation count.
func (p *process) wayOfUser(f Faults, c client, user int) Way {
	way, mine := p.way(f, c), ""
	if op := p.opOf(user); op != nil {
		mine = op.Name
	}
	if way.Request == "" || way.Operation != mine {
		way.Operation, way.Request = mine, ""
	}
	return way
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
