// Package confirm says to real servers what a simulated run has said to its servers, and compares the answers.
//
// [Run] repeats what the clients of a counterexample have said, frame by frame and in the same order: handshakes, requests,
// broken connections, ends of sessions. Servers lag where they did in simulation. Each reply and each event of a watch has
// to be the same, but for how real servers call sessions and transactions, for the time, and for the order of names in a
// list. Then real servers answer exactly so, and what the recipe did with these answers breaks its property there, too. The
// recipe itself does not run again.
package confirm

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/zktorture/zktorture/live/zkclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Confirmation is what came of a counterexample on real servers.
type Confirmation struct {
	// Violation is the counterexample's, if real servers answered exactly as the simulated ones; else nil.
	Violation *sim.Violation
	// Step is the first at which the real servers did otherwise, and Difference what; empty if they never did.
	Step       int
	Difference string
	// Tries is the number of tries. Up to ten may miss an event: a server may close the connection of an ended session
	// before it sends the events of that end, from another thread. Up to three may differ in another way: on a busy machine
	// a server may close a connection by itself.
	Tries int
	// Untried says why it was not tried at all: what cannot be made to happen on real servers.
	Untried string

	missed bool // such an event has not come
}

// Config says how real servers are reached.
type Config struct {
	Servers []string // their addresses, the leader's first
	// Followers can be held back; nil if they cannot.
	Followers Followers
	Patience  time.Duration // for each step at least, more if any of the servers is slow; default 3 s

	own []recipes.Conn // the run's own connections, one to each server
}

// Followers are the servers that do not lead, with their numbers in [Config.Servers].
type Followers interface {
	Committed(ctx context.Context) (zxid int64, err error)  // the leader's last transaction
	Hold(ctx context.Context, server int, zxid int64) error // it applies none after that, and has applied all up to it
	Free(server int)                                        // it applies all
}

// Bounds of the run's own connections.
const (
	ownTimeout = 20 * time.Second // of their sessions
	connectMax = 5 * time.Minute
)

// Run says to real servers what was said in a run: replayed is the result of [sim.Replay] of c. It fails if the servers
// cannot be reached. Their tree must be the run's own: what is in it is deleted.
func Run(
	ctx context.Context, w *workload.Workload, c *sim.Counterexample, replayed *sim.Replayed, cfg Config,
) (*Confirmation, error) {
	if why := unconfirmable(replayed, cfg); why != "" {
		return &Confirmation{Untried: why}, nil
	}
	cfg.Patience = cmp.Or(cfg.Patience, 3*time.Second)
	for _, server := range cfg.Servers {
		conn, err := connect(ctx, server)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		cfg.own = append(cfg.own, conn)
	}
	return tried(func() (*Confirmation, error) { return relayed(ctx, w, c.Property, replayed, cfg) })
}

// connect opens a session of the run's own.
func connect(ctx context.Context, server string) (*zkclient.Client, error) {
	conn, err := zkclient.Connect(server, ownTimeout)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectMax)
	defer cancel()
	if err := conn.WaitSession(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("confirm: %s: %w", server, err)
	}
	return conn, nil
}

// awayMax is how long real servers may be away: they may have to elect a leader, on a busy machine.
const awayMax = 2 * time.Minute

// missedMax is the try in which a missed event is believed. One is missed in about half of all tries if a session has
// several znodes.
const missedMax = 10

// differentMax is the same for any other difference.
const differentMax = 3

// tried tries until nothing differs, or what differs is believed.
func tried(try func() (*Confirmation, error)) (*Confirmation, error) {
	for tries, missed, different := 1, 0, 0; ; tries++ {
		confirmed, err := try()
		if err != nil {
			return nil, err
		}
		again := false
		switch {
		case confirmed.missed:
			missed++
			again = missed < missedMax
		case confirmed.Difference != "":
			different++
			again = different < differentMax
		}
		if confirmed.Tries = tries; !again {
			return confirmed, nil
		}
	}
}

// unconfirmable says what of a trace cannot be made to happen on real servers.
func unconfirmable(r *sim.Replayed, cfg Config) string {
	for _, s := range r.Trace {
		switch {
		case s.Kind == world.KindFault && s.Fault.Unconfirmable() != "":
			return fmt.Sprintf("step %d: %s", s.N, s.Fault.Unconfirmable())
		case cfg.Followers == nil && falls(s):
			return fmt.Sprintf("step %d: these servers cannot be made to lag", s.N)
		}
	}
	if r.Record.Struck.Has(world.Wrap) {
		return wrapping(r.Record.Changes)
	}
	return ""
}

// wrapping says where a run needs a counter that has come to its end.
func wrapping(changes []world.Change) string {
	needs := "the counter of sequential znodes begins near its end, which takes 2147483647 creates on real servers"
	for _, c := range changes {
		if c.Sequential && strings.HasSuffix(c.Path, "-2147483648") {
			return fmt.Sprintf("step %d: the counter of sequential znodes goes on to -2147483648, "+
				"where ZooKeeper 3.8's sticks at 2147483647", c.Step)
		}
	}
	for _, c := range changes {
		if c.Sequential && strings.Contains(sequence.FindString(c.Path), "21474836") {
			return fmt.Sprintf("step %d: %s", c.Step, needs)
		}
	}
	return needs
}

// sequence is the number at the end of a sequential znode's name.
var sequence = regexp.MustCompile(`-?[0-9]{10}$`)

// timesSlowest is how many times as long as the slowest round of the run's own requests a step may take.
const timesSlowest = 50

// endLate ends a step that has had its time: the least, or more if any server answers the run's own requests slowly
// meanwhile, but no longer than the servers may be away.
func endLate(turn context.Context, end func(), least time.Duration, own []recipes.Conn) {
	began, every, slowest := time.Now(), least/10, time.Duration(0)
	for time.Since(began) < max(least, min(timesSlowest*slowest, awayMax)) {
		due := time.Now().Add(every)
		select {
		case <-turn.Done():
			return
		case <-time.After(every):
			for _, conn := range own {
				conn.Exists("/") // also an error says how slow its server is
			}
			slowest = max(slowest, time.Since(due))
		}
	}
	end()
}
