// Package strike says which requests of ZooKeeper's clients meet which faults, as a seed draws them or a plan has them,
// and what becomes of each frame for it. A proxy, or a server, shows its frames to an [Engine] and does what that says.
//
// What a request draws depends on the seed, the number of its client and the number of the request, and nothing else.
// Clients are numbered as they open their sessions; one that comes back with its session keeps its number and its count
// of requests. So a client that repeats its requests meets the same faults, unless the odds are by the minute, when the
// time between requests counts.
//
// To add a fault of connections, add it and its ways to faults.go, and a script to testdata.
package strike

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Hello is the number of the connect by which a client opens its session, as if it were a request. An answer can be
// lost there, and nothing else can happen.
const Hello = 0

// LastsMax bounds how long a fault lasts, whatever session timeout the servers grant.
const LastsMax = 5 * time.Minute

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

// Lasts is how long the fault lasts.
func (s *Strike) Lasts() time.Duration { return time.Duration(s.ForMS) * time.Millisecond }

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

// DrawHello draws for the connect by which a client opens its session, as for a request: it reports whether the answer
// is what gets lost. Odds by the minute begin with the session.
func (l *Lottery) DrawHello(client int) (lost bool) {
	what, due := l.Draw(client, Hello, 0)
	return due && what.Fault == Loss && what.Variant == Answer
}

// lasts is how long what was drawn lasts, given the session's timeout, in milliseconds.
func (d *Drawn) lasts(timeout time.Duration) int64 {
	return min(int64(d.Share*float64(timeout.Milliseconds())), LastsMax.Milliseconds())
}
