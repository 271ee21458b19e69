package workload

import (
	"slices"
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// informed is a user who has been told of a number of expiries, the last of them in an earlier step or not.
type informed struct {
	User
	times   int
	earlier bool
}

func (u informed) ExpiriesSeen() int     { return u.times }
func (u informed) SawExpiryBefore() bool { return u.earlier }
func (u informed) Now() int64            { return 1 }

// owning, disowned and losing are recipes that say whether they still hold.
type owning struct{ Locker }

func (owning) IsOwner() bool { return true }

type disowned struct{ Locker }

func (disowned) IsOwner() bool { return false }

type losing struct {
	Locker
	lost chan struct{}
}

func (l losing) Lost() <-chan struct{} { return l.lost }

// A client that has not been told that its session is gone may go on; one that has been told, and had time to act on
// it, may not.
func TestBeliefs(t *testing.T) {
	lost := make(chan struct{})
	close(lost)
	for _, test := range []struct {
		name    string
		recipe  any
		granted int // expiries told of before the grant
		told    informed
		goesOn  bool
		accused bool
	}{
		{"not told", owning{}, 0, informed{}, true, false},
		{"not told, by a channel", losing{}, 0, informed{}, true, false},
		{"told just now", owning{}, 0, informed{times: 1}, true, false},
		{"told, and goes on", owning{}, 0, informed{times: 1, earlier: true}, true, true},
		{"told, and goes on, by a channel", losing{}, 0, informed{times: 1, earlier: true}, true, true},
		{"told, and stops", disowned{}, 0, informed{times: 1, earlier: true}, false, false},
		{"told, and stops, by a channel", losing{lost: lost}, 0, informed{times: 1, earlier: true}, false, false},
		{"told before the grant", owning{}, 1, informed{times: 1, earlier: true}, true, false},
		{"told again after the grant", owning{}, 1, informed{times: 2, earlier: true}, true, true},
		{"a recipe that cannot tell, not told", struct{ Locker }{}, 0, informed{}, true, false},
		{"a recipe that cannot tell, told", struct{ Locker }{}, 0, informed{times: 1, earlier: true}, false, false},
	} {
		h := &Held{user: test.told, by: believerOf(test.recipe),
			op: &world.Op{Name: "acquire", Return: 1, ExpiriesSeen: test.granted}}
		if goesOn := h.Believes(); goesOn != test.goesOn || (len(h.found) > 0) != test.accused {
			t.Errorf("%s: goes on: %v, accused of %v", test.name, goesOn, h.found)
		}
	}
}

// Two holders are no violation if one has not been told of its expiry. They hide neither a belief against better
// knowledge nor two holders with live sessions.
func TestZombiesHideNothing(t *testing.T) {
	zombie := func(s *scene, beliefs []finding) {
		s.grant(1, 1, 2, 1).Data.(*Held).found = beliefs
		s.ends = map[int64]int64{0xa1: 5}
		s.grant(2, 1, 7, 2)
	}
	belief := finding{Violation: sim.Violation{Property: "belief"}}
	for _, test := range []struct {
		name    string
		alive   bool // a third gets the lock beside the second
		beliefs []finding
		want    []string
	}{
		{"a zombie", false, nil, nil},
		{"and a belief", false, []finding{belief}, []string{"belief"}},
		{"and two alive", true, nil, []string{"exclusion"}},
		{"and both", true, []finding{belief}, []string{"belief", "exclusion"}},
	} {
		s := &scene{}
		zombie(s, test.beliefs)
		if test.alive {
			s.grant(3, 1, 9, 3)
		}
		got, text := s.broken()
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v\n%s", test.name, got, test.want, text)
		}
	}
}
