package live

import (
	"context"
	"fmt"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// ServerFault is something that is to happen to one server, at a moment of the run.
type ServerFault struct {
	// AtMS is when, in milliseconds since the run began: or as soon after as earlier ones are healed, and an operation is
	// under way.
	AtMS int64 `json:"at_ms"`
	ensemble.Fault
	ForMS int64 `json:"for_ms"` // how long it lasts, in milliseconds
}

// String returns the fault as in
//
//	at 2400 ms: kill leader for 500 ms
func (f ServerFault) String() string {
	return fmt.Sprintf("at %d ms: %v for %d ms", f.AtMS, f.Fault, f.ForMS)
}

// under are the faults under which this one is allowed and counted.
func (f ServerFault) under() strike.Set {
	set := strike.SetOf(f.Kind)
	if f.Target == ensemble.Leader {
		set |= strike.SetOf(strike.Leader)
	}
	return set
}

// ServerStrike is a fault of a server, and what became of it. Stamps are those of the history.
type ServerStrike struct {
	ServerFault
	At   int64  `json:"at,omitempty"`    // when it struck; 0 if it did not
	Whom string `json:"whom,omitempty"`  // which server, and what it was then
	Well int64  `json:"well,omitempty"`  // when all servers were well again, and had been for a while
	Why  string `json:"error,omitempty"` // why it did not strike
	// Struck says that an operation of some client was under way. Otherwise it does not count.
	Struck bool `json:"struck"`
}

// Servers are real servers that may be hurt, such as an [ensemble.Ensemble].
type Servers interface {
	// Strike makes a fault happen to a server. What it returns says to which, and ends it. The error says why it did
	// not strike.
	Strike(ctx context.Context, f ensemble.Fault) (*ensemble.Struck, error)
	// HealAll ends every fault and returns when all servers are well. The error says which is not.
	HealAll(ctx context.Context) error
}

// Bounds of what is drawn for servers.
const (
	atOnceMax = 2               // servers hurt at a time
	strikeMax = 2 * time.Second // how long it takes until there is somebody to strike
	healMax   = 5 * time.Minute // how long servers may take to be well again, as to start
)

// pausesBetween are how long servers are left alone after a strike has been planned to be over.
var pausesBetween = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// faultDraw draws what is to happen to the servers of a run, one strike after the other: one fault, seldom two at
// the same moment.
type faultDraw struct {
	draw    world.Source
	allowed []strike.Fault
	leader  bool
	nodes   int
	session time.Duration
	from    time.Duration // when the next fault may strike
}

// newFaultDraw returns nil if nothing is to happen. Leader alone aims all of them at the leader.
func newFaultDraw(seed uint64, allowed strike.Set, nodes int, session time.Duration) *faultDraw {
	if allowed &= ServerFaults; allowed == 0 {
		return nil
	}
	b := &faultDraw{
		draw: sim.NewRandomSource(seed^serverSalt, 0), leader: allowed.Has(strike.Leader), nodes: nodes, session: session,
	}
	if allowed == strike.SetOf(strike.Leader) {
		allowed = ServerFaults
	}
	for f := range (allowed &^ strike.SetOf(strike.Leader)).Each() {
		b.allowed = append(b.allowed, f)
	}
	return b
}

// serverSalt keeps the draws of faults of servers apart from those of everything else.
const serverSalt = 0x736572766572

// next draws what strikes next.
func (b *faultDraw) next() (all []ServerFault) {
	at := b.from + pausesBetween[b.draw.Choose(len(pausesBetween), "pause")]
	last := time.Duration(0)
	for range 1 + b.draw.Choose(2, "another")*b.draw.Choose(atOnceMax, "another") {
		f := ensemble.Fault{Kind: b.allowed[b.draw.Choose(len(b.allowed), "fault of a server")]}
		lasts := durations(b.session)[b.draw.Choose(len(durations(b.session)), "for")]
		f.Target = b.target(f.Kind)
		all = append(all, ServerFault{AtMS: at.Milliseconds(), Fault: f, ForMS: lasts.Milliseconds()})
		last = max(last, lasts)
	}
	b.from = at + last
	return all
}

// target draws which server a fault strikes. Only a follower can lag.
func (b *faultDraw) target(kind strike.Fault) ensemble.Target {
	switch {
	case kind == strike.Lag:
		return ensemble.Follower
	case b.leader && b.draw.Choose(2, "the leader") == 1:
		return ensemble.Leader
	}
	return ensemble.Target(b.draw.Choose(b.nodes, "server"))
}
