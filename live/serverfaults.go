package live

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/ensemble"
	"github.com/zktorture/zktorture/sim"
)

// ServerFaults is a set of faults of servers.
type ServerFaults uint8

// The faults of servers, and AtLeader, which aims half of them at the leader. Without it they strike whoever
// they meet.
const (
	KillServer      ServerFaults = 1 << iota // SIGKILL of a member, and its restart
	StopServer                               // SIGSTOP of a member: it hangs
	PartitionServer                          // links between members are lost: both ways, one way or in part
	LagServer                                // a member hears late of everything
	AtLeader

	NoServerFaults  ServerFaults = 0
	AllServerFaults              = AtLeader<<1 - 1
)

// serverFaults is the table of the faults of servers, in the order of their bits: the name under which each is
// allowed and counted, what it does, and in which ways it strikes. AtLeader has no way of its own.
var serverFaults = []struct {
	name, help string
	ways       []ensemble.Fault
}{
	{"kill", "a server is killed, and started again", []ensemble.Fault{{Kind: ensemble.Kill}}},
	{"stop", "a server hangs", []ensemble.Fault{{Kind: ensemble.Stop}}},
	{"partition", "servers lose each other: both ways, one way, or a part of what they say",
		[]ensemble.Fault{{Kind: ensemble.Partition}, {Kind: ensemble.Mute}, {Kind: ensemble.Deaf}, {Kind: ensemble.Lossy, Percent: 30}}},
	{"lag", "a server gets all transactions late, so its clients read old data",
		[]ensemble.Fault{{Kind: ensemble.Lag, DelayMS: 50}, {Kind: ensemble.Lag, DelayMS: 200}, {Kind: ensemble.Lag, DelayMS: 500}}},
	{"leader", "any of these is aimed at the leader", nil},
}

// Has tells whether f is in the set.
func (s ServerFaults) Has(f ServerFaults) bool { return s&f != 0 }

// Each yields the single faults of the set, in the order of their bits.
func (s ServerFaults) Each() iter.Seq[ServerFaults] {
	return func(yield func(ServerFaults) bool) {
		for rest := s; rest != 0; rest &= rest - 1 {
			if !yield(rest & -rest) {
				return
			}
		}
	}
}

// String lists the names, as --faults takes them.
func (s ServerFaults) String() string {
	var names []string
	for f := range s.Each() {
		names = append(names, serverFaults[f.index()].name)
	}
	return strings.Join(names, ",")
}

// Help says in a line what a single fault does.
func (s ServerFaults) Help() string { return serverFaults[s.index()].help }

// index is the place of a single fault in the table.
func (s ServerFaults) index() int { return bits.TrailingZeros8(uint8(s)) }

// parseServerFault returns the fault of a name, or none.
func parseServerFault(name string) ServerFaults {
	for f := range AllServerFaults.Each() {
		if f.String() == name {
			return f
		}
	}
	return NoServerFaults
}

// ServerFault is something that is to happen to one server, at a moment of the run.
type ServerFault struct {
	AtMS int64 `json:"at_ms"` // since the run began, in milliseconds; or as soon as those before it are healed
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
func (f ServerFault) under() (set ServerFaults) {
	for one := range AllServerFaults.Each() {
		if slices.ContainsFunc(serverFaults[one.index()].ways, func(way ensemble.Fault) bool { return way.Kind == f.Kind }) {
			set |= one
		}
	}
	if f.Target == ensemble.Leader {
		set |= AtLeader
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

// Bounds of what is drawn for servers, and of a plan of it.
const (
	atOnceMax     = 2                // servers hurt at a time
	membersMax    = 9                // the servers of an ensemble that a plan may name
	serverLastMax = time.Minute      // how long a fault of a plan may last
	serverPlanMax = 24 * time.Hour   // and when it may strike
	strikeMax     = 2 * time.Second  // how long it takes until there is somebody to strike
	healMax       = 90 * time.Second // how long servers may take to be well again
)

// pausesBetween are how long servers are left alone after a strike has been planned to be over.
var pausesBetween = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// faultDraw draws what is to happen to the servers of a run, one strike after the other: one fault, seldom two at
// the same moment.
type faultDraw struct {
	draw    sim.Source
	allowed [][]ensemble.Fault // the ways of each fault that may strike
	leader  bool
	nodes   int
	session time.Duration
	from    time.Duration // when the next fault may strike
}

// newFaultDraw returns nil if nothing is to happen. AtLeader alone aims all of them at the leader.
func newFaultDraw(seed uint64, allowed ServerFaults, nodes int, session time.Duration) *faultDraw {
	if allowed == NoServerFaults {
		return nil
	}
	b := &faultDraw{draw: sim.NewRandomSource(seed^serverSalt, 0), leader: allowed.Has(AtLeader), nodes: nodes, session: session}
	if allowed == AtLeader {
		allowed = AllServerFaults
	}
	for f := range (allowed &^ AtLeader).Each() {
		b.allowed = append(b.allowed, serverFaults[f.index()].ways)
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
		f := b.way(b.allowed[b.draw.Choose(len(b.allowed), "fault of a server")])
		lasts := durations(b.session)[b.draw.Choose(len(durations(b.session)), "for")]
		f.Target = b.target(f.Kind)
		all = append(all, ServerFault{AtMS: at.Milliseconds(), Fault: f, ForMS: lasts.Milliseconds()})
		last = max(last, lasts)
	}
	b.from = at + last
	return all
}

// way draws one of the ways of a fault, if it has several.
func (b *faultDraw) way(ways []ensemble.Fault) ensemble.Fault {
	if len(ways) == 1 {
		return ways[0]
	}
	return ways[b.draw.Choose(len(ways), "which way")]
}

// target draws which server a fault strikes. Only a follower can lag.
func (b *faultDraw) target(kind ensemble.Kind) ensemble.Target {
	switch {
	case kind == ensemble.Lag:
		return ensemble.Follower
	case b.leader && b.draw.Choose(2, "the leader") == 1:
		return ensemble.Leader
	}
	return ensemble.Target(b.draw.Choose(b.nodes, "server"))
}

// check returns an error for a fault that cannot be.
func (f ServerFault) check() error {
	switch {
	case f.AtMS < 0 || f.AtMS > serverPlanMax.Milliseconds():
		return fmt.Errorf("at %d ms: 0 to %d are possible", f.AtMS, serverPlanMax.Milliseconds())
	case f.ForMS < 0 || f.ForMS > serverLastMax.Milliseconds():
		return fmt.Errorf("a fault of a server lasts %d ms: 0 to %d are possible", f.ForMS, serverLastMax.Milliseconds())
	}
	return f.Validate(membersMax)
}

// planned are strikes of a plan: faults that are to strike at the same moment strike together.
func planned(faults []ServerFault) (all [][]ServerFault) {
	faults = slices.Clone(faults)
	slices.SortStableFunc(faults, func(a, b ServerFault) int { return cmp.Compare(a.AtMS, b.AtMS) })
	for _, f := range faults {
		if n := len(all); n > 0 && all[n-1][0].AtMS == f.AtMS {
			all[n-1] = append(all[n-1], f)
		} else {
			all = append(all, []ServerFault{f})
		}
	}
	return all
}
