package workload

import (
	"fmt"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
)

// Servers is how code reaches ZooKeeper that connects by itself:
//
//	zk.Connect(s.Addresses, timeout, s.Option)
//
// or, where the code takes a dialer only, zk.Connect(s.Literals, timeout, zk.WithDialer(s.Dial)): go-zookeeper looks up
// names before it dials, and the Addresses are names that nobody knows. In exact mode (torture test) the Addresses alone
// are enough, and [At] declares others. The world closes a connection with the option at the end of the episode, if the
// code has not, so that its goroutines can end. Others are the code's to close ([Closing]); goroutines that are left are
// not judged then, and a run that leaves too many ends. Only connections with the option are told apart, so of code that
// has several others it is not always known which session an operation goes by.
type Servers struct {
	Addresses []string // names, for Option
	Option    func(*zk.Conn)
	Literals  []string // numbers, for Dial
	Dial      zk.Dialer
}

// Of is the workload of a kind for code that does not take an interface: new gets go-zookeeper's own *zk.Conn, which
// the users of a process share, or [Servers] to connect to by itself, as often as it likes. The code runs unmodified,
// and so does go-zookeeper: the simulator sees the frames that it sends.
//
//	workload.Of(workload.Lock, func(c *zk.Conn, path string) workload.Locker { return mylock.New(c, path) })
//
// A kind with a parameter is given as a function:
//
//	func(new func(recipes.Conn, string) workload.Permitter, opts ...workload.Option) *workload.Workload {
//		return workload.Semaphore(3, new, opts...)
//	}
//
// With Servers a process has one user: several would share nothing that the servers see. [world.Door] lists what is different
// from a recipes.Conn.
func Of[C *zk.Conn | Servers, T any](
	kind func(new func(c recipes.Conn, path string) T, opts ...Option) *Workload,
	new func(c C, path string) T, opts ...Option,
) *Workload {
	door := world.OverWire
	var how C
	if _, own := any(how).(Servers); own {
		door = world.ByDialer
	}
	through := func(c recipes.Conn, path string) T { return new(reach[C](c), path) }
	return kind(through, append(slices.Clone(opts), func(t *terms) { t.door = door })...)
}

// OverWire is the same workload with go-zookeeper's own clients in simulation, over connections in memory, unless its
// code connects by itself: a recipe gets the *zk.Conn as its recipes.Conn. It takes nine times the processor time of the
// imitation that is the default, and shows whether the recipe gets along with the real one.
func (w *Workload) OverWire() *Workload {
	v := *w
	if v.terms.door == world.InProcess {
		v.terms.door = world.OverWire
	}
	return &v
}

// reach returns what code gets in place of a recipes.Conn.
func reach[C *zk.Conn | Servers](c recipes.Conn) (to C) {
	for {
		switch conn := c.(type) {
		case interface{ reach(to any) bool }:
			if conn.reach(&to) {
				return to
			}
		case *zk.Conn:
			if own, can := any(conn).(C); can {
				return own
			}
		case interface{ ZK() *zk.Conn }:
			if own, can := any(conn.ZK()).(C); can {
				return own
			}
		}
		inner, can := c.(interface{ Unwrap() recipes.Conn })
		if !can {
			panic(fmt.Sprintf("workload: the recipe wants a %T, and this world has a %T to give", to, c))
		}
		c = inner.Unwrap()
	}
}

// wireConns are the connections over the wire of an episode's processes.
type wireConns struct {
	mu  sync.Mutex
	all map[*zk.Conn]recipes.Conn // with their events
}

// of is the connection of a user.
func (w *wireConns) of(u *world.User) recipes.Conn {
	own := u.ZK()
	if own == nil {
		return dialler{user: u}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[*zk.Conn]recipes.Conn{}
	}
	if w.all[own] == nil {
		w.all[own] = recipes.WithEvents(own, u.ZKEvents())
	}
	return wireConn{recipes.Wrapper{Conn: w.all[own]}, own, u}
}

// wireConn is a user's handle on go-zookeeper's connection.
type wireConn struct {
	recipes.Wrapper
	own  *zk.Conn
	user *world.User
}

// NewGUID implements the source of [recipes.NewGUID].
func (c wireConn) NewGUID() string { return c.user.NewGUID() }

// Unwrap is the connection as go-zookeeper has made it.
func (c wireConn) Unwrap() recipes.Conn { return c.own }

// dialler stands for a connection where code makes its own.
type dialler struct {
	recipes.Conn // nil
	user         *world.User
}

func (d dialler) reach(to any) bool {
	s, can := to.(*Servers)
	if can {
		*s = Servers{d.user.Servers(), d.user.ZKOption(), d.user.Literals(), d.user.Dial}
	}
	return can
}
