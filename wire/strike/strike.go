// Package strike says which requests of ZooKeeper's clients meet which faults: as a seed draws them, or as a plan has
// them. Packages chaosproxy and fakezk/server carry them out.
//
// What a request draws depends on the seed, the number of its client and the number of the request, and nothing else.
// Clients are numbered as they open their sessions; one that comes back with its session keeps its number and its count
// of requests. So a client that repeats its requests meets the same faults, unless the odds are by the minute, when the
// time between requests counts.
package strike

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/wire"
)

// Fault is the name of a fault, as users list it.
type Fault string

// The faults. Those from Lag on strike servers, the others the client whose request has drawn them.
const (
	Loss   Fault = "loss"   // its connection is cut
	Hold   Fault = "hold"   // nothing passes either way for a while
	Refuse Fault = "refuse" // its connection is cut, and for a while so is every new one of the session
	Stall  Fault = "stall"  // its connection is cut, and for a while new ones of the session get no answer
	Watch  Fault = "watch"  // the next event of a watch is late, or is lost with the connection
	Expiry Fault = "expiry" // its session is ended at the servers
	Lag    Fault = "lag"    // a follower falls behind for a while
	Kill   Fault = "kill"   // a server is dead for a while
	Stop   Fault = "stop"   // a server hangs for a while
	Quorum Fault = "quorum" // the servers have no quorum for a while

	Deposed Fault = "deposed" // a leader is replaced, and for a while does not know it
)

// Way is a way in which a fault strikes. If it lasts, it lasts for a share of the session timeout from Least to Most.
type Way struct {
	Fault       Fault
	Variant     string
	Least, Most float64
}

// Everywhere are the ways in which faults strike a client alike at a proxy and at a simulated server.
var Everywhere = []Way{
	{Fault: Loss, Variant: "before"},
	{Fault: Loss, Variant: "after"},
	{Fault: Loss, Variant: "idle"},
	{Fault: Loss, Variant: "deaf"},
	{Fault: Loss, Variant: Answer},
	{Fault: Hold, Variant: "short", Least: 0.05, Most: 0.8},
	{Fault: Hold, Variant: "long", Least: 1.2, Most: 2},
	{Fault: Refuse, Least: 0.1, Most: 1.5},
	{Fault: Stall, Least: 0.1, Most: 1.5},
	{Fault: Watch, Variant: "held", Least: 0.05, Most: 0.8},
	{Fault: Watch, Variant: "lost"},
	{Fault: Expiry, Variant: "before"},
	{Fault: Expiry, Variant: "after"},
}

// Answer is the way of a loss in which the connection is cut, and once more when a server lets the client connect: its
// answer is lost. At [Hello] only the latter: the session that has begun lives on with nobody until it expires, and the
// client, which does not know of it, begins another.
const Answer = "answer"

// Hello is the number of the connect by which a client opens its session, as if it were a request. An answer can be
// lost there, and nothing else can happen.
const Hello = 0

// LastsMax bounds how long a fault lasts, whatever session timeout the servers grant.
const LastsMax = 5 * time.Minute

// Lasts is how long a fault lasts.
func (s *Strike) Lasts() time.Duration { return time.Duration(s.ForMS) * time.Millisecond }

// Strike is a fault that struck.
type Strike struct {
	Time       time.Time `json:"time"`
	Fault      Fault     `json:"fault"`
	Variant    string    `json:"variant,omitempty"`
	ForMS      int64     `json:"for_ms,omitempty"` // how long it lasts, in milliseconds, if it does
	Target     int       `json:"target,omitempty"` // the server that it strikes, from 1, or the new leader
	Client     int       `json:"client"`           // clients are numbered as they open sessions, from 1
	Connection int       `json:"connection"`       // and connections as they come, from 1
	Session    string    `json:"session"`          // in hexadecimal, as the servers log it
	Request    int       `json:"request"`          // n-th of the client, which drew the fault; or Hello
	Op         string    `json:"op"`               // of that request
	Path       string    `json:"path,omitempty"`
	Server     string    `json:"server"` // to which the client is connected
}

// Parse reads a list of some of the faults, with commas between them; "all" is all of them and "none" is none.
func Parse(list string, from []Fault) ([]Fault, error) {
	switch list {
	case "all":
		return from, nil
	case "none":
		return nil, nil
	}
	var faults []Fault
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(from, Fault(name)) {
			return nil, fmt.Errorf("unknown fault %q: there are %s, all and none", name, names(from))
		}
		faults = append(faults, Fault(name))
	}
	return faults, nil
}

func names(faults []Fault) string {
	var all []string
	for _, f := range faults {
		all = append(all, string(f))
	}
	return strings.Join(all, ", ")
}

// Odds are how often a request draws a fault. One of the two must be above zero.
type Odds struct {
	Every int // one request in Every draws a fault, on average
	// PerMinute faults a minute are drawn for each client, on average, however many requests it makes; they strike at
	// requests, so a client that makes none draws none.
	PerMinute float64
}

// Validate returns an error that says what is wrong.
func (o Odds) Validate() error {
	if o.Every < 0 || o.PerMinute < 0 || math.IsNaN(o.PerMinute) || (o.Every > 0) == (o.PerMinute > 0) {
		return fmt.Errorf("the odds are one in %d requests and %g a minute: "+
			"one of the two must be above 0, and the other 0", o.Every, o.PerMinute)
	}
	return nil
}

// chance is the probability that a request draws a fault, by the time since the one before. Faults by the minute are
// a Poisson process: it is the probability of at least one in that time.
func (o Odds) chance(gap time.Duration) float64 {
	if o.Every > 0 {
		return 1 / float64(o.Every)
	}
	return -math.Expm1(-o.PerMinute * gap.Minutes())
}

// Lottery draws faults.
type Lottery struct {
	Ways   []Way   // that there are
	Faults []Fault // that may strike; if there are none nothing is drawn
	Odds   Odds    // needed if there are faults
	Seed   uint64
}

// Drawn is what a request has drawn.
type Drawn struct {
	Way
	Share float64 // of the session's timeout
	Aim   uint64  // any number, to choose a server by
}

// Draw returns what a client's request draws, by the time since the client's last one; false for nothing.
func (l *Lottery) Draw(client, request int, gap time.Duration) (Drawn, bool) {
	if len(l.Faults) == 0 {
		return Drawn{}, false
	}
	r := rand.New(rand.NewPCG(l.Seed, uint64(client)<<32^uint64(request)))
	if r.Float64() >= l.Odds.chance(gap) {
		return Drawn{}, false
	}
	fault := l.Faults[r.IntN(len(l.Faults))]
	ways := slices.DeleteFunc(slices.Clone(l.Ways), func(w Way) bool { return w.Fault != fault })
	way := ways[r.IntN(len(ways))]
	return Drawn{Way: way, Share: way.Least + r.Float64()*(way.Most-way.Least), Aim: r.Uint64()}, true
}

// DrawHello draws for the connect by which a client opens its session, as for a request: it tells whether the answer is
// what gets lost. Odds by the minute begin with the session.
func (l *Lottery) DrawHello(client int) (lost bool) {
	what, due := l.Draw(client, Hello, 0)
	return due && what.Fault == Loss && what.Variant == Answer
}

// Lasts is how long what was drawn lasts, given the session's timeout, in milliseconds.
func (d *Drawn) Lasts(timeout time.Duration) int64 {
	return min(int64(d.Share*float64(timeout.Milliseconds())), LastsMax.Milliseconds())
}

// Counts tells whether a request of an operation is one that may draw a fault. Pings, what clients send by themselves
// when they connect, and the end of a session do not.
func Counts(op wire.Op) bool {
	switch op {
	case wire.OpPing, wire.OpAuth, wire.OpSetWatches, wire.OpSetWatches2, wire.OpSASL, wire.OpCloseSession:
		return false
	}
	return true
}

// Counter counts the requests of a client. The zero value has counted none.
type Counter struct {
	Requests int
	last     time.Time
}

// Next counts a request, and returns the time since the one before.
func (c *Counter) Next() (gap time.Duration) {
	now := time.Now()
	if !c.last.IsZero() {
		gap = now.Sub(c.last)
	}
	c.last = now
	c.Requests++
	return gap
}
