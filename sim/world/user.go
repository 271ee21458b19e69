package world

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/line"
)

// User is one user of a client's session, as the script of an episode sees it.
type User struct {
	Client, Index int // which client, and which of its users
	Incarnation   int // how often the client has crashed before

	world     *World
	process   *process
	conn      *goclient.Conn
	op        *Op
	done      bool
	closing   bool // see Closes
	resting   bool // it waits for the liveness phase, see AwaitLiveness
	dead      atomic.Bool
	goroutine atomic.Uint64 // that runs the script; 0 but in exact mode
	atDeath   func()        // nil: nothing
	guids     atomic.Uint64
	stamped   int // step of the last stamp …
	stamps    int // … and how many there were in it

	sent int // step in which its last request was sent

	over usage // of the last operation, where there are several connections

	stalledLong bool // if it is stalled: until nothing else can happen in its process

	told   int         // how many sessions were gone when it was last told that one is …
	toldAt int         // … and the step
	missed bool        // the event Expired was dropped just now, as the channel of its reader is full
	sees   atomic.Bool // one of its goroutines has seen since that the session is another one
}

// Op is one operation of the episode: one call of a recipe by a user.
type Op struct {
	Name, Arg    string
	Outcome      Outcome
	Result       string // meaningful if the outcome is OK
	Err          error
	Call, Return int64 // stamps: unique, ordered by steps; Return is 0 if it never returned
	Client       int
	User         int
	Incarnation  int
	SessionAt    int64 // the session that the client believed to have when the operation returned, see [Op.Session]
	ExpiriesSeen int   // how many of the client's sessions were gone by then
	Data         any   // the workload's

	// What is known of what the operation got, see [Op.LastsUntil]. Told is the last stamp at which its user had surely
	// not been told that it is over, 0 if it never was. SelfEnded says that the recipe itself seems to end it: it did
	// something in the step in which it told its user, or had a znode deleted while no operation was under way.
	Told      int64
	SelfEnded bool

	Number int64 // identifies the operation within its episode

	Made  []Change // the ephemeral znodes that surely the goroutine which began it has made, see [Op.Claims]
	Maker uint64   // that goroutine; 0: nobody wants to know

	user       *User
	outer      *Op // within which its user, of a whole service, has begun it; nil: none
	over       usage
	ctx        *bubble.Context // nil of one that the world has not begun
	cancelable bool
	Cancelled  bool
}

// Outcome tells how an operation ended.
type Outcome uint8

// The outcomes. Running is the outcome of an operation that has not returned.
const (
	Running Outcome = iota
	OK
	Fail    // surely had no effect
	Unknown // may have had its effect, or may still have
)

// String prints the outcome as history files spell it.
func (o Outcome) String() string { return [...]string{"running", "ok", "fail", "unknown"}[o] }

// Conn is the user's handle on the connection of its client; nil over the wire.
func (u *User) Conn() *goclient.Conn { return u.conn }

// ZK is the connection that the users of the process share, [OverWire]; else nil.
func (u *User) ZK() *zk.Conn {
	if u.process.door == nil {
		return nil
	}
	return u.process.door.conn
}

// ZKEvents is the channel of events that zk.Connect has returned beside [User.ZK]. It has one reader.
func (u *User) ZKEvents() <-chan zk.Event { return u.process.door.events }

// Servers are the addresses of the servers, as zk.Connect takes them with [User.ZKOption]. Which of the servers answers
// an address is the world's choice. They are names below .invalid that nobody can be asked for: without the option
// zk.Connect fails at once.
func (u *User) Servers() []string { return slices.Clone(line.Addresses) }

// Literals are such addresses for [User.Dial]: go-zookeeper looks names up before it dials, and these are none. Nothing
// but the world answers them, either.
func (u *User) Literals() []string { return slices.Clone(line.Literals) }

// ZKOption is an option of zk.Connect, [ByDialer]: the connection dials by the world, which closes it when the episode
// is over.
func (u *User) ZKOption() func(*zk.Conn) { return u.process.door.option(u.Index) }

// Dial connects the user's code to the servers, [ByDialer]: it is for zk.WithDialer, where there is no place for
// [User.ZKOption]. The world cannot close such a connection.
func (u *User) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	u.process.door.unknown.Store(true)
	return u.process.door.dialer(u.Index, 0)(network, address, timeout)
}

// NewGUID returns 32 hexadecimal digits, the same in every run.
func (u *User) NewGUID() string {
	return goclient.GUID(GUIDSeed(u.Client, u.Incarnation), u.Index, u.guids.Add(1))
}

// ExpiriesSeen returns how many of its process's sessions were gone when this user was last told that one was.
func (u *User) ExpiriesSeen() int {
	u.world.fence.Load()
	return u.told
}

// Step returns the step in which the script runs.
func (u *User) Step() int { return u.world.step }

// LastExpiryStep returns the step at which the user was last told that its session was gone: the present one while
// anything is held back from goroutines of its process, and the one in which they were given the last of that.
func (u *User) LastExpiryStep() int {
	if c := u.process.inProcess; c != nil && c.HoldsAny() {
		return u.world.step
	}
	return max(u.toldAt, u.process.toldLate)
}

// learns notes that the user is told that a session of its process is gone, the number-th of them.
func (u *User) learns(number int) { u.told, u.toldAt = max(u.told, number), u.world.step }

// hears is learns, of a user that may have learned it before.
func (u *User) hears(number int) {
	if number > u.told {
		u.learns(number)
	}
}

// knows is what the user's goroutine that runs knows of the sessions of its client.
func (u *User) knows() goclient.Knowledge {
	if telling := u.process.telling.Load(); telling != nil && telling.User == u.Index {
		return telling.Knew
	}
	return goclient.Knowledge{Session: u.process.session(), Expiries: len(u.process.expiriesSeen) - u.process.expiriesBefore}
}

func (u *User) run() {
	u.goroutine.Store(bubble.Goroutine())
	returned := false
	defer u.finish(&returned)
	bubble.Own(owner{u.world, u.process, u, u.process.door}.number())
	u.world.episode.Run(u)
	returned = true
}

// AtDeath sets what the script's goroutine does last when its process has died: at once if it was not within the
// recipe, else when the episode is over and the connection is closed.
func (u *User) AtDeath(do func()) { u.atDeath = do }

// Closes says that the script begins to close what it was given, which is no operation, or has done so.
func (u *User) Closes(begins bool) {
	u.world.enter()
	defer u.world.mu.Unlock()
	u.closing = begins
}

func (u *User) stopIfDead() {
	if u.dead.Load() {
		u.stop()
	}
}

// stop ends the script of a process that has died.
func (u *User) stop() {
	if u.atDeath != nil {
		u.atDeath()
	}
	runtime.Goexit()
}

// finish runs when the script ends, also when it ended by the death of the process, or the recipe ended its goroutine.
func (u *User) finish(returned *bool) {
	problem, how := recover(), "panicked"
	if u.dead.Load() {
		return
	}
	u.world.enter()
	defer u.world.mu.Unlock()
	u.done = true
	u.world.wake()
	if problem == nil && !*returned && !u.world.ending {
		problem, how = "runtime.Goexit, which t.FailNow calls", "was ended"
	}
	if problem != nil {
		u.world.panicked = append(u.world.panicked, Violation{
			Property: "panic",
			Message:  fmt.Sprintf("c%d %s%s: %v\n%s", u.Client+1, how, u.doing(), problem, bubble.PanicStack()),
		})
	}
}

// doing says in which operation the user is, "" if in none.
func (u *User) doing() string {
	if u.op == nil {
		return ""
	}
	return " in " + u.op.Name
}

// stamp returns the next stamp of this user: unique, and ordered by steps.
func (u *User) stamp() int64 {
	w := u.world
	w.fence.Load()
	if u.stamped != w.step {
		u.stamped, u.stamps = w.step, 0
	}
	u.stamps++
	return int64(w.step)*stampsPerStep + int64(u.Client*10+u.Index)*20 + int64(min(u.stamps, 19))
}

// stampsPerStep is the distance between the stamps of two steps.
const stampsPerStep = 10000

// StepOf returns the step in which a stamp was taken.
func StepOf(stamp int64) int { return int(min(stamp/stampsPerStep, math.MaxInt)) }

// StampOf returns the stamp at which a step begins.
func StampOf(step int) int64 { return int64(step) * stampsPerStep }

// Begin begins an operation. The context ends when the caller gives up, which is a fault, or, if
// the operation is not cancelable, only with the episode.
func (u *User) Begin(name, arg string, cancelable bool) (context.Context, *Op) {
	u.stopIfDead()
	call, w := u.stamp(), u.world
	w.enter()
	defer w.mu.Unlock()
	op := &Op{
		Name: name, Arg: arg, Call: call, Number: call, Client: u.Client, User: u.Index, Incarnation: u.Incarnation,
		user: u, ctx: bubble.NewContext(), cancelable: cancelable, outer: u.op,
	}
	w.ops = append(w.ops, op)
	u.op = op
	w.notes = append(w.notes, note{op.Call, op, false})
	w.cfg.Places.Note(op)
	return op.ctx, op
}

// underWay yields the user's operations that have not returned, the latest first.
func (u *User) underWay(yield func(*Op) bool) {
	for op := u.op; op != nil && yield(op); op = op.outer {
	}
}

// endContexts ends the contexts of these operations.
func (u *User) endContexts() {
	for op := range u.underWay {
		op.ctx.End(u.world.settle)
	}
}

// End ends the operation. Its context ends when its caller has blocked again, so that background goroutines do not
// run beside it.
func (op *Op) End(outcome Outcome, result string, err error) {
	u := op.user
	u.stopIfDead()
	op.Return = u.stamp()
	op.Outcome, op.Result, op.Err = outcome, result, err
	w := u.world
	w.fence.Load()
	known := u.knows()
	op.ExpiriesSeen, op.SessionAt = u.process.expiriesBefore+known.Expiries, known.Session
	if u.process.severalConns() {
		op.SessionAt, u.over = op.Session(), op.used()
	}
	w.enter()
	defer w.mu.Unlock()
	for at := &u.op; *at != nil; at = &(*at).outer {
		if *at == op {
			*at = op.outer
			break
		}
	}
	w.ended = append(w.ended, op)
	w.notes = append(w.notes, note{op.Return, op, true})
	w.wake()
}

// LastsUntil says that what the operation got is over when lost is closed; nil, that its user is not told so, or, later,
// that it has given it back, with what else was to be over by the same channel.
func (op *Op) LastsUntil(lost <-chan struct{}) {
	w := op.user.world
	w.enter()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(w.lasting, func(l lasting) bool { return l.op == op }); i >= 0 {
		for k, lost := 0, w.lasting[i].lost; k < len(w.lasting); k++ {
			w.lasting[k].given = w.lasting[k].given || w.lasting[k].lost == lost
		}
	} else if op.Return == 0 {
		w.lasting = append(w.lasting, lasting{op: op, lost: lost})
	}
}

// Now returns the stamp at which the present step began.
func (u *User) Now() int64 {
	u.world.fence.Load()
	return StampOf(u.world.step)
}

// World is what is to be judged, and may be asked before all is over by what runs by [User.Do].
func (u *User) World() *World { return u.world }

// Do reaches a resource that clients share outside ZooKeeper: do runs, alone, when the world lets it.
func (u *User) Do(what string, do func() string) { u.outside(outsideCall{what: what, do: do}) }

// Wait lets d pass by the clock of the user's process.
func (u *User) Wait(d time.Duration) {
	u.world.beginsToWait()
	time.Sleep(d)
	u.stopIfDead()
}

// AwaitLiveness waits for the liveness phase, which begins when all users wait for it or have finished; nothing strikes a process
// whose users do. It is for a user who has finished its script and does something more.
func (u *User) AwaitLiveness() {
	w := u.world
	u.outside(outsideCall{
		what: "calm", do: func() string { return "all faults are over" }, says: "faults stop here", rests: true,
		when: func() bool { return w.liveness },
	})
}

// AwaitOthers waits for the liveness phase, and for all other users' scripts to end.
func (u *User) AwaitOthers() {
	w, others := u.world, "all other users are done"
	if len(w.procs) == 1 && len(u.process.users) == 1 {
		others = "there are no other users"
	}
	u.outside(outsideCall{
		what: "alone", do: func() string { return "all others have finished" }, says: others,
		when: func() bool { return w.liveness && countUnfinished(w) == 1 },
	})
}

func countUnfinished(w *World) (n int) {
	for _, p := range w.procs {
		for _, u := range p.users {
			if !u.done {
				n++
			}
		}
	}
	return n
}

func (u *User) outside(request outsideCall) {
	u.stopIfDead()
	w := u.world
	w.enter()
	request.user, request.done = u, make(chan bool, 1)
	u.resting = request.rests && !w.liveness
	w.outside = append(w.outside, &request)
	slices.SortStableFunc(w.outside, func(a, b *outsideCall) int {
		return cmp.Or(a.user.Client-b.user.Client, a.user.Index-b.user.Index)
	})
	w.mu.Unlock()
	w.wake()
	if !<-request.done {
		u.stop()
	}
}

// lasting is what a user got by an operation, and by what it is told that it is over.
type lasting struct {
	op    *Op
	lost  <-chan struct{}
	given bool // back
}

// noteLost notes whose users were told in this step that what they got is over, and whether the recipe did something in
// that step: what it has sent may be taken later in it.
func noteLost(w *World) {
	for i := 0; i < len(w.lasting); i++ {
		op := w.lasting[i].op
		if op.Told == 0 {
			select {
			case <-w.lasting[i].lost:
				op.Told = StampOf(w.step)
			default:
				if !w.lasting[i].given {
					continue
				}
			}
		}
		if op.Told != StampOf(w.step) {
			w.lasting = slices.Delete(w.lasting, i, i+1)
			i--
		} else if op.user.sent == w.step && !op.SelfEnded {
			op.SelfEnded = true
		}
	}
}

// noteAsked notes that a user, one of all if it is not known whose it is, has sent a request.
func (p *process) noteAsked(call *goclient.Call) {
	w := p.world
	p.noteIdentities(&call.Request)
	for _, u := range p.users {
		if call.User >= 0 && call.User != u.Index {
			continue
		}
		if u.sent = w.step; call.Tag != 0 || !deletes(&call.Request) {
			continue
		}
		for _, l := range w.lasting {
			if l.op.user == u && !l.op.SelfEnded {
				l.op.SelfEnded = true
			}
		}
	}
}

// deletes reports whether a request may delete a znode.
func deletes(r *fakezk.Request) bool {
	return r.Op == wire.OpDelete || slices.ContainsFunc(r.Ops, func(part fakezk.Request) bool { return deletes(&part) })
}
