// Package service tortures whole services: each process of a simulated world runs the user's own start function, which
// connects to ZooKeeper by itself, as in production. Processes crash, start again, pause, and lose their connections and
// sessions. It takes exact mode (torture test).
//
//	func TestElector(t *testing.T) {
//		sim.Check(t, service.Service{
//			Start: func(ctx context.Context, i *service.Instance) error {
//				return elector.Run(ctx, i.Servers, func(leads bool) { i.Declare("leader", leads) })
//			},
//			Required: []string{"leader"},
//		}.Workload())
//	}
//
// # What is judged
//
//   - exclusion: no two instances declare the same at the same time. As with a lock, a declaration ends when it is
//     withdrawn, the process dies, Start returns, or the session ends at the servers: whoever has not been told of that
//     is not accused.
//   - belief: an instance that has been told that its session is gone withdraws what it has declared, before another
//     one declares it or all is at rest.
//   - progress: once all faults are over and the service is at rest, some instance declares what is Required; and none
//     asks the servers again and again without a pause (livelock).
//   - startup: without faults Start does not fail, and once faults are over it does not go on failing; with Readies, each
//     instance says that it is ready.
//   - hang: once its context is canceled Start returns within 30 seconds of the world's time.
//   - deaf, diverged: of a znode that the service Follows an instance that has watched it has read the last change, 45
//     seconds without faults after that. It is deaf without a watch there, and diverged with one that does not tell it.
//   - orphan: no ephemeral znode is left of a call of Start that has returned, 45 seconds without faults after that, if
//     its process lives on; and if the service [Service.Undoes] what fails, none that the goroutine of a Do has made which
//     returned an error. (What others have made beside it at that moment is not told apart, and not judged.)
//   - missing: if the service [Service.Registers], an instance that is ready has an ephemeral znode, 45 seconds without
//     faults after its start, unless one of its sessions has expired since.
//   - silent-end: an instance that has been told that a session has expired, by which it had ephemeral znodes, does what
//     [Expiry] says, 45 seconds without faults after that.
//   - the service's own [Invariant]s, of what it has observed and done, and of the tree.
//   - panic: the goroutine of Start does not panic. (A panic of another one ends the program, as everywhere.)
//
// What a process connects to by several sessions at once that have ephemeral znodes is ambiguous: a declaration then ends
// with the first of them, and belief is not judged.
//
// # What it does not cover
//
// Instances are one program, so they share package variables. What goroutines do that a call of Start has left behind
// counts as done by the next call.
package service

import (
	"context"
	"time"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Service is a service under test.
type Service struct {
	// Start runs an instance until its context is canceled, or until it fails: then it is called again, after a pause. If
	// it returns nil the instance has done its work.
	Start func(ctx context.Context, i *Instance) error
	// Servers are the addresses, as host:port, at which Start expects ZooKeeper. Default zk1:2181, zk2:2181 and zk3:2181.
	Servers []string
	// Required names what some instance has to declare when the service is at rest.
	Required []string
	// Readies says that each instance calls [Instance.Ready] when it is up.
	Readies bool
	// Follows are the paths of znodes that an instance which has watched them reads after each change, until Start returns.
	Follows    []string
	Expiry     Expiry // what an instance does whose session has expired; 0: anything
	Undoes     bool   // says that what fails in [Instance.Do] leaves no ephemeral znode that it has made
	Registers  bool   // says that an instance which is [Instance.Ready] has an ephemeral znode
	Invariants []Invariant
}

// Invariant is what holds when the service is at rest: all faults are over, and it has had 90 seconds to recover.
type Invariant struct {
	Name  string             // the property that is broken if it does not hold
	Holds func(r Rest) error // an error is about what was done with results that it has in quotes
}

// Rest is a service at rest.
type Rest struct {
	Instances int
	Tree      map[string]string // what znodes contain, by their paths, without those of ZooKeeper's own
	Declared  map[string][]int  // the instances that declare something, by its name
	Observed  []Observation     // in the order in which it was
	Done      []*world.Op       // what was done by [Instance.Do], in the order in which it began
}

// Observation is what an instance has said by [Instance.Observe].
type Observation struct {
	Instance    int
	Name, Value string
}

// Workload is the workload of the service, with as many instances as the world has clients.
func (s Service) Workload(opts ...workload.Option) *workload.Workload {
	if s.Servers == nil {
		s.Servers = []string{"zk1:2181", "zk2:2181", "zk3:2181"}
	}
	kind := func(_ func(recipes.Conn, string) any, opts ...workload.Option) *workload.Workload {
		return workload.Own("service", s.plan, opts...)
	}
	return workload.Of(kind, func(workload.Servers, string) any { return nil }, append(opts, workload.At(s.Servers...))...)
}

// turn is a time for which a script lets the service run, and how long the world waits before it starts it again.
type turn struct{ lasts, pause time.Duration }

func (s Service) plan(p *world.Plan, path string) workload.Episode {
	e := &episode{Script: workload.NewScript[turn](p, path), of: s}
	p.Follows = s.Follows
	e.present = make([]*Instance, len(e.Users()))
	e.Draw(p, p.Ops, func(p *world.Plan, label string) turn {
		short := [...]time.Duration{time.Second, 100 * time.Millisecond, 6 * time.Second}
		return turn{short[p.Choose(3, label)], short[p.Choose(3, label)]}
	})
	return e
}

// Instance is the service in one life of a process. Its methods may be called by any goroutine. In a process that has
// crashed they do not return.
type Instance struct {
	Number  int      // of the process, from 0
	Servers []string // where ZooKeeper is

	of   *episode
	user workload.User
	life context.Context // ends when it is to stop
	stop context.CancelFunc

	// Guarded by episode.mu:
	starts   *world.Op     // the last call of Start
	pause    time.Duration // before the next
	ready    bool          // it has said so in this call
	failed   []*world.Op   // calls that have failed in the calm …
	before   int           // … of these, those in its first half
	declared map[string]*declaration
	over     bool // what it does is not judged any more

	ended chan struct{} // Start is not called any more
}

// declaration is what an instance declares, as its user believes to hold it.
type declaration struct {
	*workload.Held
	expiries int // that the process had seen then
	over     bool
}

// IsOwner and GoesBySession are how [workload.Held] asks.
func (d *declaration) IsOwner() bool     { return !d.over }
func (*declaration) GoesBySession() bool { return true }

// roleOf is what is declared, as users contend for it.
func roleOf(name string) workload.Role {
	return workload.Role{Noun: name, Acquire: "declare " + name, Release: "withdraw " + name}
}

// Declare says that the instance takes itself for the only one that is something by a name, such as the leader, or does
// not any more. To say it again makes no difference, but after its session has gone.
func (i *Instance) Declare(name string, on bool) {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	d := i.declared[name]
	if i.over || on && d != nil && i.user.ExpiriesSeen() == d.expiries {
		return
	}
	i.withdraw(name)
	if on {
		d = &declaration{expiries: i.user.ExpiriesSeen()}
		d.Held = roleOf(name).Take(i.user, d, func(context.Context) error { return nil })
		i.of.believe(name)
		i.declared[name] = d
	}
}

// withdraw ends a declaration, if there is one.
func (i *Instance) withdraw(name string) {
	if d := i.declared[name]; d != nil {
		delete(i.declared, name)
		roleOf(name).GiveBack(d.Held, func(context.Context) error { d.over = true; return nil })
	}
}

// Ready says that the instance is up.
func (i *Instance) Ready() {
	i.Observe("ready", "")
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	i.ready = true
}

// Observe notes what the instance has seen or done, for [Rest] and the story.
func (i *Instance) Observe(name, value string) {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	if !i.over {
		_, op := i.user.Begin(name, value, false)
		i.user.End(op, world.OK, "", nil)
		i.of.observed = append(i.of.observed, Observation{i.Number, name, value})
	}
}

// Do runs something as an operation of the instance's user, who may give up: then the context ends, as it does when Start
// is to return. With an error its outcome is unknown: it may have happened.
func (i *Instance) Do(name, arg string, do func(ctx context.Context) (result string, err error)) (string, error) {
	ctx, op := i.begin(name, arg, true)
	i.note(func() { i.of.done = append(i.of.done, op) })
	if op != nil && i.of.of.Undoes {
		op.Claims()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(i.life, cancel)()
	result, err := do(ctx)
	i.end(op, result, err)
	return result, err
}

// begin begins an operation; nil if what the instance does is not judged any more.
func (i *Instance) begin(name, arg string, cancelable bool) (context.Context, *world.Op) {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	if i.over {
		return context.Background(), nil
	}
	return i.user.Begin(name, arg, cancelable)
}

// end ends an operation that begin has begun.
func (i *Instance) end(op *world.Op, result string, err error) {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	if i.over || op == nil {
		return
	}
	outcome := world.OK
	if err != nil {
		outcome = world.Unknown
	}
	i.user.End(op, outcome, result, err)
}
