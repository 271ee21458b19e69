// Package strike says which requests of ZooKeeper's clients meet which faults, as a seed draws them or a plan has them,
// and what becomes of each frame for it. A proxy, or a server, shows its frames to an [Engine] and does what that says.
//
// What a request draws depends on the seed, the number of its client and the number of the request, and nothing else.
// Clients are numbered as they open their sessions; one that comes back with its session keeps its number and its count
// of requests. So a client that repeats its requests meets the same faults.
//
// To add a fault of connections, add it and its ways to faults.go, and a script to testdata.
package strike

import (
	"fmt"
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

// Plan is what is to strike, by client and request.
type Plan map[Place]Strike

// Place is the request at which a fault strikes: n-th of a client, both from 1, or [Hello].
type Place struct{ Client, Request int }

// Lottery draws faults.
type Lottery struct {
	Ways   []Way   // that there are
	Faults []Fault // that may strike; if there are none nothing is drawn
	Every  int     // one request in so many draws a fault, on average; needed if there are faults
	Seed   uint64
}

// Drawn is what a request has drawn.
type Drawn struct {
	Way
	Share float64 // of the session's timeout
	Aim   uint64  // any number, to choose a server by
}

// Validate returns an error that says what is wrong.
func (l *Lottery) Validate() error {
	if len(l.Faults) > 0 && l.Every < 1 {
		return fmt.Errorf("one request in %d cannot draw a fault: one in 1 or more can", l.Every)
	}
	return nil
}

// Draw returns what a client's request draws; false for nothing.
func (l *Lottery) Draw(client, request int) (Drawn, bool) {
	if len(l.Faults) == 0 {
		return Drawn{}, false
	}
	r := rand.New(rand.NewPCG(l.Seed, uint64(client)<<32^uint64(request)))
	if r.Float64() >= 1/float64(l.Every) {
		return Drawn{}, false
	}
	fault := l.Faults[r.IntN(len(l.Faults))]
	ways := slices.DeleteFunc(slices.Clone(l.Ways), func(w Way) bool { return w.Fault != fault })
	way := ways[r.IntN(len(ways))]
	return Drawn{Way: way, Share: way.Least + r.Float64()*(way.Most-way.Least), Aim: r.Uint64()}, true
}

// DrawHello draws for the connect by which a client opens its session, as for a request: it reports whether the answer
// is what gets lost.
func (l *Lottery) DrawHello(client int) (lost bool) {
	what, due := l.Draw(client, Hello)
	return due && what.Fault == Loss && what.Variant == Answer
}

// lasts is how long what was drawn lasts, given the session's timeout, in milliseconds.
func (d *Drawn) lasts(timeout time.Duration) int64 {
	return min(int64(d.Share*float64(timeout.Milliseconds())), LastsMax.Milliseconds())
}
