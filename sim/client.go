package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/fakezk"
)

// client is a ZooKeeper client in a process, as the loop sees and moves it. In the in-process door it is a
// [fakezk.Client], which imitates go-zookeeper.
type client interface {
	Connected() (replica int, ok bool)
	Connection() fakezk.ConnID // at the servers; meaningless unless connected
	Session() int64            // that the client believes to have, 0 if none
	LastZxid() int64

	// Dialing tells whether it tries to connect. Knock lets its dial succeed, and Dial then lets a server answer the
	// handshake; Knock is false if there is none.
	Dialing() bool
	Knock() bool
	Dial(now int64, replica int) error

	// DialInVain is Dial whose answer is lost. It returns the session that the server has begun.
	DialInVain(now int64, replica int) (session int64, err error)

	// A request is sent, arrives at the server, and waits for the reply. Unsent ones wait for a connection.
	Sent() *fakezk.Call // the oldest; nil if there is none
	Unsent() int
	Waiting() int
	Queued() *fakezk.Call     // the oldest unsent one; nil if there is none, or it does not show
	Unanswered() *fakezk.Call // the oldest that waits for its reply; nil if there is none
	Arrive(now int64) *fakezk.Call
	Deaf() bool // what the server sends does not reach it
	Deliver() (fakezk.Message, *fakezk.Call)

	// Losses are the ways in which its connection can break now. Break breaks it. BreakUnsent says that no server can
	// be reached. GiveUp breaks the connection because nothing has come for too long; it is false if the client sees
	// to that itself.
	Losses() []loss
	Break(err error)
	BreakUnsent()
	Heal() // breaks a connection on which one direction, or both, are silent
	GiveUp() bool
	Mute() bool // what it sends does not reach the server

	Watches() int
	WatchedBy(path string, list []fakezk.Watcher) []fakezk.Watcher

	// Events that wait for a reader, of those that the client's channels have, and what is late for stalled goroutines.
	Readers() int
	Held(reader int) int
	Late(reader int) bool
	HoldsAny() bool
}

// errNoHandshake says that code has dialled and sent nothing.
var errNoHandshake = errors.New("sim: the dial succeeds, and no handshake follows")

// inProcess is a client of the in-process door.
type inProcess struct {
	*fakezk.Client
	told *told // nil unless it is kept
}

func (c inProcess) Deliver() (fakezk.Message, *fakezk.Call) {
	m, call := c.Client.Deliver()
	if c.told != nil {
		c.told.add(toldMessage, int64(m.Hash(false)))
	}
	return m, call
}

func (c inProcess) Dial(now int64, replica int) error {
	if c.told == nil {
		return c.Client.Dial(now, replica)
	}
	before := c.StateHash(fakezk.View{}, sameTag)
	err := c.Client.Dial(now, replica)
	if err == nil || c.StateHash(fakezk.View{}, sameTag) != before { // else nobody can tell that it dialled
		_, connected := c.Connected()
		c.told.add(toldDial, int64(replica), c.Session(), int64(hashString(fmt.Sprint(connected, err))))
	}
	return err
}

func sameTag(tag int64) int64 { return tag }

func (c inProcess) Break(err error) {
	if c.told != nil {
		c.told.add(toldBreak, int64(hashString(err.Error())))
	}
	c.Client.Break(err)
}

func (c inProcess) BreakUnsent() {
	c.told.add(toldUnsent)
	c.Client.BreakUnsent()
}

func (c inProcess) Dialing() bool {
	_, connected := c.Connected()
	return !connected && !c.Closed()
}

func (c inProcess) Knock() bool {
	if c.told != nil {
		c.told.w.kept.dials = c.told.client
	}
	return true
}

func (c inProcess) Deaf() bool { return false }
func (c inProcess) Mute() bool { return false }
func (c inProcess) Heal()      {}

func (c inProcess) Losses() []loss {
	_, connected := c.Connected()
	switch {
	case connected && c.Sent() != nil:
		return lossesOfRequest
	case connected:
		return lossesIdle
	case c.Unsent() > 0 && c.begins():
		return lossesUnsentNew
	case c.Unsent() > 0:
		return lossesUnsent
	case c.begins():
		return lossesOfSession
	}
	return nil
}

// begins tells whether a server would begin a session for it now.
func (c inProcess) begins() bool { return c.Dialing() && c.Session() == 0 }

func (c inProcess) GiveUp() bool {
	c.Break(errClosed)
	return true
}

// session is the one that the process believes to have: of several the one of the client that began last.
func (p *process) session() int64 {
	for _, c := range slices.Backward(p.clients) {
		if session := c.Session(); session != 0 {
			return session
		}
	}
	return 0
}

// has tells whether a client of the process has this session.
func (p *process) has(session int64) bool {
	return slices.ContainsFunc(p.clients, func(c client) bool { return c.Session() == session })
}

// sends is the first of its clients of which a request is on its way to a server; nil if there is none.
func (p *process) sends() client {
	for _, c := range p.clients {
		if c.Sent() != nil {
			return c
		}
	}
	return nil
}

// eachClient calls f for every client of the processes that have neither crashed nor finished.
func (w *World) eachClient(f func(p *process, number int, c client)) {
	for _, p := range w.procs {
		if p.active() {
			for i, c := range p.clients {
				f(p, i, c)
			}
		}
	}
}

// at tells whether a connection at the servers is one of the process's.
func (p *process) at(id fakezk.ConnID) bool {
	return slices.ContainsFunc(p.clients, func(c client) bool { return c.Connection() == id })
}

// opOf is the operation that a user has under way; nil if there is none, or no such user.
func (p *process) opOf(user int) *Op {
	if user < 0 {
		return nil
	}
	return p.users[user].op
}
