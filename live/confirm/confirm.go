// Package confirm makes a counterexample of the simulator happen on real servers.
//
// # The model
//
// [Run] plays the trace of the counterexample in a round of package live. A [Stepper] passes each client's requests,
// replies and watch events one by one, in the order of the trace. Connections break, sessions expire, processes die
// and servers lag where they did in simulation. Then all clients go on freely, and the round is judged as any other.
// A [Confirmation] says whether the same property breaks, and at which step the real servers went another way.
//
// Code over the wire, which has a *zk.Conn or connects by itself, such as a whole service, stays in its simulated world. What
// it says to the servers there is said to real ones, and what these answer is compared.
package confirm

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Stepper is where a client's requests, replies and events pass one by one.
type Stepper interface {
	Shut()                                                            // nothing passes any more but one by one
	Open()                                                            // everything passes
	Forget()                                                          // no watch is set again
	Request(ctx context.Context) (op wire.Op, path string, err error) // waits for the client's next request
	PassRequest(ctx context.Context) error                            // and waits until the server has answered
	PassReply(ctx context.Context) (code wire.Code, err error)        // the reply's error, 0 for none
	PassEvent(ctx context.Context) (path string, err error)           // of a watch
	Cut()
	Connect(ctx context.Context, server int) error // to that server, of which 0 leads
	// ConnectInVain is Connect whose answer is lost; end ends the session that has begun, by way of a server.
	ConnectInVain(ctx context.Context, server int) (end Ending, err error)
	// Expire ends the session through one of these servers, by default any but the client's. The client does not learn
	// of it before Closed.
	Expire(ctx context.Context, by ...int) error
	Closed()
	Kill() // the client is cut off for good, and its session stays
}

// Ending ends a session by way of a server, and reports whether it was alive until then.
type Ending = func(ctx context.Context, by int) (alive bool, err error)

// Confirmation is what came of a counterexample on real servers.
type Confirmation struct {
	// Violation is the counterexample's, as it was seen there; nil if it was not.
	Violation *sim.Violation
	// Others are the other violations that were seen.
	Others []sim.Violation
	// Step is the first at which the real servers did otherwise, and Difference what; empty if they never did.
	Step       int
	Difference string
	// Tries is the number of tries, each on a root of its own. Up to ten may miss an event: a server may close the
	// connection of an ended session before it sends the events of that end, from another thread. Up to three may differ in
	// another way, without the violation: on a busy machine a client may lose its connection by itself.
	Tries int
	// Untried says why it was not tried at all: what cannot be made to happen on real servers.
	Untried string

	missed bool // such an event has not come
}

// Config says how to make a counterexample happen.
type Config struct {
	Servers []string // their addresses, the leader's first
	// Open opens a session behind a stepper, which is the session's Link.
	Open func(context.Context, Opening) (*live.Session, Stepper, error)
	// Watches lists the watches of the servers' clients; nil if they are unknown.
	Watches func(context.Context) ([]Watched, error)
	// Followers can be held back; nil if they cannot.
	Followers Followers
	Patience  time.Duration // for each step at least, more if any of the servers is slow; default 3 s

	own []recipes.Conn // the run's own connections, one to each server
}

// Followers are the servers that do not lead, with the numbers that they have in [Opening].
type Followers interface {
	Committed(ctx context.Context) (zxid int64, err error)  // the leader's last transaction
	Hold(ctx context.Context, server int, zxid int64) error // it applies none after that, and has applied all up to it
	Free(server int)                                        // it applies all
}

// Opening says how a session is opened.
type Opening struct {
	Server  int            // to which the client is connected, of which 0 leads
	OnEvent func(zk.Event) // called with each of the client's events; may be nil
	// Unconnected lets the client begin without a connection: the stepper is shut from the start, and
	// nobody waits for a session. It is open otherwise.
	Unconnected bool
}

// Watched is a watch that a server has.
type Watched struct {
	Session int64
	Path    string
}

// Run makes a counterexample happen on real servers: replayed is the result of [sim.Replay]. It fails if the round
// could not be played.
func Run(
	ctx context.Context, w *workload.Workload, c *sim.Counterexample, replayed *sim.Replayed, cfg Config,
) (*Confirmation, error) {
	if why := unconfirmable(replayed, cfg); why != "" {
		return &Confirmation{Untried: why}, nil
	}
	cfg.Patience = cmp.Or(cfg.Patience, 3*time.Second)
	for server := range cfg.Servers {
		session, _, err := cfg.Open(ctx, Opening{Server: server})
		if err != nil {
			return nil, err
		}
		defer session.Close()
		cfg.own = append(cfg.own, session.Conn)
	}
	if w.Terms().Door.Wired() {
		return tried(func() (*Confirmation, error) { return relayed(ctx, w, c.Property, replayed, cfg) })
	}
	return tried(func() (*Confirmation, error) { return once(ctx, w, c, replayed, cfg) })
}

// awayMax is how long real servers may be away: they may have to elect a leader, on a busy machine.
const awayMax = 2 * time.Minute

// once tries once.
func once(
	ctx context.Context, w *workload.Workload, c *sim.Counterexample, replayed *sim.Replayed, cfg Config,
) (confirmed *Confirmation, err error) {
	plan, err := c.Plan(world.Root0) // which an episode uses up
	if err != nil {
		return nil, err
	}
	admin := func(ctx context.Context) (*live.Session, error) {
		s, _, err := cfg.Open(ctx, Opening{})
		return s, err
	}
	round := live.Config{Open: admin, Root: world.Root0, Patience: cfg.Patience, Away: awayMax}
	err = live.PlayRound(ctx, w, plan, round, func(ctx context.Context, l *live.Round) (err error) {
		r := newReplayer(ctx, l, w, cfg, replayed)
		defer r.end(ctx)
		confirmed, err = r.confirm(ctx, c.Property, replayed)
		return err
	})
	return confirmed, err
}

// missedMax is the try in which a missed event is believed. One is missed in about half of all tries if a session has
// several znodes.
const missedMax = 10

// differentMax is the same for any other difference, without the violation.
const differentMax = 3

// tried tries until the violation was seen, or nothing differed, or what differed is believed.
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
		case confirmed.Difference != "" && confirmed.Violation == nil:
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

// confirm plays the round by the trace, and says whether the property breaks.
func (r *replayer) confirm(ctx context.Context, property string, simulated *sim.Replayed) (*Confirmation, error) {
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	out := &Confirmation{}
	out.Step, out.Difference = r.follow(ctx)
	out.missed = r.missed
	r.free()
	if !r.round.Finish() {
		return out, nil
	}
	v := r.view(ctx)
	j := r.round.Judge(v)
	if len(v.Waiting) == 0 {
		r.round.AddLeftovers(v, &j, func(below string) bool { return orphan(simulated.Violation, below) })
	}
	out.sort(property, len(simulated.Record.Waits) > 0, r.workload.Promised(j.Violations))
	return out, nil
}

// orphan reports whether a path below the root is, but for what is random in its name, one that a violation says is left
// behind.
func orphan(v *sim.Violation, below string) bool {
	return v != nil && v.Property == "orphan" && slices.ContainsFunc(v.Paths, func(left string) bool {
		left = strings.TrimPrefix(left, world.Root0)
		return path.Dir(left) == path.Dir(below) && samePath(left, below)
	})
}

// sort tells the violation of a property from others. waits says that somebody waited for ever in the simulation.
func (c *Confirmation) sort(property string, waits bool, found []sim.Violation) {
	for i := range found {
		if c.Violation == nil && sameProperty(property, found[i].Property, waits) {
			c.Violation = &found[i]
		} else {
			c.Others = append(c.Others, found[i])
		}
	}
}

// sameProperty reports whether what is broken on real servers is what was in the simulation. Why somebody waits for ever
// is not always to be seen there, and a first call that fails is told like any other.
func sameProperty(simulated, real string, waits bool) bool {
	blocked := []string{"progress", "lost-wakeup", "self-block", "deadlock"}
	same := slices.Contains(blocked, simulated) || waits && simulated == "orphan"
	return simulated == real || same && slices.Contains(blocked, real) || simulated == "startup" && real == "unexpected-error"
}

// describe says which line of a trace it is, for people.
func describe(s world.Step) string { return strings.TrimSpace(s.Event + " " + s.Path) }
