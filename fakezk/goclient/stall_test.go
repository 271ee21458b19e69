package goclient_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// stalling is a client with two users, and what their goroutines have been told.
type stalling struct {
	*cable
	t    *testing.T
	c    *goclient.Client
	told []string
}

// watch lets a user watch a znode that is not there, and a goroutine wait for that if wanted.
func (s *stalling) watch(user int, path string, wait bool) (events <-chan zk.Event) {
	s.do(s.c, func() (err error) {
		_, _, events, err = s.c.Handle(user).ExistsW(path)
		return err
	})
	if wait {
		go func() {
			e := <-events
			s.told = append(s.told, path+" "+e.Type.String())
		}()
		synctest.Wait()
	}
	return events
}

// appear makes a znode, of which the client hears.
func (s *stalling) appear(path string) {
	s.servers.Admin(s.now, &fakezk.Request{Op: wire.OpCreate, Path: path, ACL: zk.WorldACL(zk.PermAll)})
	for s.servers.Pending(s.c.Connection()) > 0 {
		s.c.Deliver()
	}
}

// ask sends a request whose answer one of the user's goroutines waits for.
func (s *stalling) ask(user int, name string) {
	done := s.begin(s.c, func() error { _, _, err := s.c.Handle(user).Exists("/" + name); return err })
	go func() { s.told = append(s.told, fmt.Sprint(name, " ", <-done)) }()
	s.c.Arrive(s.now)
	s.c.Deliver()
}

// Whatever comes for a stalled user, and whatever is told first: no goroutine of its goes on before it is told, one goes on
// when something is told, each once; those of others are told at once; who looks finds what has come.
func TestStall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		watches, asks := rapid.IntRange(0, 4).Draw(rt, "watches"), rapid.IntRange(0, 3).Draw(rt, "requests")
		synctest.Test(t, func(t *testing.T) {
			s := newStalling(t)
			for i := range watches {
				s.watch(0, fmt.Sprint("/w", i), true)
			}
			looked := s.watch(0, "/looked", false)
			s.watch(1, "/other", true)
			s.c.Stall(0)
			for i := range watches {
				s.appear(fmt.Sprint("/w", i))
			}
			for i := range asks {
				s.ask(0, fmt.Sprint("a", i))
			}
			if s.appear("/looked"); len(looked) != 1 {
				t.Error("what has come is not in its channel")
			}
			s.appear("/other")
			s.ask(1, "b")
			s.wantTold(2, "of others")
			for i := range watches + asks {
				s.c.Tell(rapid.IntRange(0, s.c.Readers()-1).Draw(rt, "next"))
				s.wantTold(3+i, "one by one")
			}
			if s.c.Readers() > 0 {
				t.Errorf("%d are still late", s.c.Readers())
			}
		})
	})
}

func newStalling(t *testing.T) *stalling {
	s := &stalling{cable: newWire(fakezk.Config{}), t: t}
	s.c = goclient.NewClient(s.cable, s.servers, 4000, synctest.Wait)
	s.c.Dial(s.now, 0)
	return s
}

func (s *stalling) wantTold(n int, which string) {
	s.t.Helper()
	if synctest.Wait(); len(s.told) != n {
		s.t.Fatalf("%q were told, want %d, %s", s.told, n, which)
	}
}

// What is late is what it was when it came, whatever becomes of the session meanwhile.
func TestLateIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStalling(t)
		old := s.c.Session()
		s.watch(0, "/w", true)
		s.c.Stall(0)
		s.ask(0, "a")
		s.servers.Expire(s.now, old)
		s.c.Break(zk.ErrConnectionClosed)
		s.c.Dial(s.now, 0)
		s.c.Dial(s.now, 0)
		for i, want := range []goclient.Knowledge{{Session: old}, {Expiries: 1}} {
			if got := s.c.Oldest(i).Knew; got != want {
				t.Errorf("late %d: %+v, want %+v", i, got, want)
			}
		}
		s.c.EndStalls()
		s.wantTold(2, "in the order in which they came")
		if s.told[0] != "a zk: node does not exist" && s.told[0] != "a <nil>" || s.told[1] != "/w EventNotWatching" {
			t.Errorf("told %q", s.told)
		}
	})
}

// Goroutines that nobody waits for any more, since they have gone on with something else, find the event in its channel.
func TestLateEventsAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStalling(t)
		events, other := s.watch(0, "/w", false), make(chan bool)
		go func() {
			select {
			case <-events:
			case <-other:
			}
		}()
		synctest.Wait()
		s.c.Stall(0)
		s.appear("/w")
		if s.c.LetLie(); len(events) != 0 || s.c.Readers() != 1 {
			t.Error("who waits was told")
		}
		other <- true
		synctest.Wait()
		if s.c.LetLie(); len(events) != 1 || s.c.Readers() != 0 {
			t.Errorf("%d events lie there, %d are late", len(events), s.c.Readers())
		}
	})
}

// A process that dies takes what is late with it: its goroutines get no replies any more.
func TestDeathOfTheStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStalling(t)
		s.watch(0, "/w", true)
		s.c.Stall(0)
		s.appear("/w")
		replied := errors.New("never")
		done := make(chan bool)
		go func() {
			defer close(done)
			_, _, replied = s.c.Handle(0).Exists("/a")
		}()
		s.c.Accept(<-s.calls)
		s.c.Arrive(s.now)
		s.c.Deliver()
		s.c.Kill()
		if <-done; replied.Error() != "never" {
			t.Errorf("a request of the dead was answered: %v", replied)
		}
		s.wantTold(1, "as watches end")
	})
}
