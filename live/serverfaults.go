package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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

// ServerFaultNames are the names of the faults of servers, in the order of their bits, and ServerFaultHelp what they do.
var (
	ServerFaultNames = []string{"kill", "stop", "partition", "lag", "leader"}
	ServerFaultHelp  = []string{
		"a server is killed, and started again",
		"a server hangs",
		"servers lose each other: both ways, one way, or a part of what they say",
		"a server hears late of everything, and what clients read there is old",
		"any of these is aimed at the leader",
	}
)

// Has tells whether f is in the set.
func (s ServerFaults) Has(f ServerFaults) bool { return s&f != 0 }

// String lists the names, as --faults takes them.
func (s ServerFaults) String() string {
	var names []string
	for i, name := range ServerFaultNames {
		if s.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ServerFault is something that is to happen to one server, at a moment of the run.
type ServerFault struct {
	AtMS    int64  `json:"at_ms"`             // since the run began, in milliseconds; or as soon as those before it are healed
	Fault   string `json:"fault"`             // kill, stop, partition, mute, deaf, lossy or lag
	Server  string `json:"server"`            // leader, follower, or a name: server.1, server.2, …
	Variant string `json:"variant,omitempty"` // how much: "200ms" of a lag, "30%" of a lossy one
	ForMS   int64  `json:"for_ms"`            // how long it lasts, in milliseconds
}

// String returns the fault as in
//
//	at 2400 ms: kill leader for 500 ms
func (f ServerFault) String() string {
	return fmt.Sprintf("at %d ms: %s for %d ms", f.AtMS, f.Command(), f.ForMS)
}

// Command is the fault as [Servers.Strike] takes it.
func (f ServerFault) Command() string {
	return strings.TrimSpace(f.Fault + " " + f.Server + " " + f.Variant)
}

// name is what the fault is called where it is allowed and counted.
func (f ServerFault) name() string {
	switch f.Fault {
	case "mute", "deaf", "lossy":
		return "partition"
	}
	return f.Fault
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

// Servers are real servers that may be hurt.
type Servers interface {
	// Strike makes a fault happen to a server, such as "kill leader" or "lag follower 200ms", tells whom it
	// struck, and returns what ends it. The error says why it did not strike.
	Strike(ctx context.Context, fault string) (whom string, undo func() error, err error)
	// Heal ends every fault and returns when all servers are well. The error says which is not.
	Heal(ctx context.Context) error
}

// Bounds of what is drawn for servers, and of a plan of it.
const (
	atOnceMax     = 2                // servers hurt at a time
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
	allowed []func(*faultDraw) ServerFault
	leader  bool
	nodes   int
	session time.Duration
	from    time.Duration // when the next fault may strike
}

// newFaultDraw returns nil if nothing is to happen.
func newFaultDraw(seed uint64, allowed ServerFaults, nodes int, session time.Duration) *faultDraw {
	b := &faultDraw{draw: sim.NewRandomSource(seed^serverSalt, 0), leader: allowed.Has(AtLeader), nodes: nodes, session: session}
	for _, kind := range serverKinds {
		if allowed&^AtLeader == 0 || allowed.Has(kind.fault) {
			b.allowed = append(b.allowed, kind.draw)
		}
	}
	if allowed == NoServerFaults {
		return nil
	}
	return b
}

// serverSalt keeps the draws of faults of servers apart from those of everything else.
const serverSalt = 0x736572766572

// serverKinds are the faults of servers with how each is drawn.
var serverKinds = []struct {
	fault ServerFaults
	draw  func(*faultDraw) ServerFault
}{
	{KillServer, func(*faultDraw) ServerFault { return ServerFault{Fault: "kill"} }},
	{StopServer, func(*faultDraw) ServerFault { return ServerFault{Fault: "stop"} }},
	{PartitionServer, func(b *faultDraw) ServerFault {
		ways := []ServerFault{{Fault: "partition"}, {Fault: "mute"}, {Fault: "deaf"}, {Fault: "lossy", Variant: "30%"}}
		return ways[b.draw.Choose(len(ways), "which way")]
	}},
	{LagServer, func(b *faultDraw) ServerFault {
		lags := []string{"50ms", "200ms", "500ms"}
		return ServerFault{Fault: "lag", Variant: lags[b.draw.Choose(len(lags), "lag")]}
	}},
}

// next draws what strikes next.
func (b *faultDraw) next() (all []ServerFault) {
	at := b.from + pausesBetween[b.draw.Choose(len(pausesBetween), "pause")]
	last := time.Duration(0)
	for range 1 + b.draw.Choose(2, "another")*b.draw.Choose(atOnceMax, "another") {
		f := b.allowed[b.draw.Choose(len(b.allowed), "fault of a server")](b)
		lasts := durations(b.session)[b.draw.Choose(len(durations(b.session)), "for")]
		f.AtMS, f.Server, f.ForMS = at.Milliseconds(), b.target(f), lasts.Milliseconds()
		all, last = append(all, f), max(last, lasts)
	}
	b.from = at + last
	return all
}

// target draws whom a fault strikes. Only who follows can lag.
func (b *faultDraw) target(f ServerFault) string {
	switch {
	case f.Fault == "lag":
		return "follower"
	case b.leader && b.draw.Choose(2, "the leader") == 1:
		return "leader"
	}
	return fmt.Sprintf("server.%d", 1+b.draw.Choose(b.nodes, "server"))
}

// check returns an error for a fault that cannot be.
func (f ServerFault) check() error {
	known := []string{"kill", "stop", "partition", "mute", "deaf", "lossy", "lag"}
	switch {
	case !slices.Contains(known, f.Fault):
		return fmt.Errorf("there is no fault %q of servers: there are %s", f.Fault, strings.Join(known, ", "))
	case f.Server == "":
		return fmt.Errorf("%q: it must say which server: leader, follower, server.1, server.2, …", f.Fault)
	case f.AtMS < 0 || f.AtMS > serverPlanMax.Milliseconds():
		return fmt.Errorf("at %d ms: 0 to %d are possible", f.AtMS, serverPlanMax.Milliseconds())
	case f.ForMS < 0 || f.ForMS > serverLastMax.Milliseconds():
		return fmt.Errorf("a fault of a server lasts %d ms: 0 to %d are possible", f.ForMS, serverLastMax.Milliseconds())
	}
	return nil
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
