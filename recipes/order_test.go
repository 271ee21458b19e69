package recipes

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"
)

// nextSequence is what a server does to its counter at each create. Two kinds of server are known, see
// wrapped.
func nextSequence(counter int32, sticks bool) int32 {
	if sticks && counter == math.MaxInt32 {
		return counter
	}
	return counter + 1
}

// Property: whatever subset of the znodes is alive, and however it is shuffled, the order is the
// order of creation, also across the wrap of either kind of server.
func TestOrderIsOrderOfCreation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sticks := rapid.Bool().Draw(t, "sticks")
		counter := rapid.Int32Range(math.MaxInt32-4, math.MaxInt32).Draw(t, "counter")
		if rapid.Bool().Draw(t, "young") {
			counter = rapid.Int32Range(0, 1e6).Draw(t, "young counter")
		}
		born := rapid.IntRange(1, 12).Draw(t, "znodes")
		var alive []string
		czxid := map[string]int64{}
		for i := range born {
			guid := fmt.Sprintf("%016x%016x", rapid.Uint64().Draw(t, "guid"), i) // unique, in no order
			name := fmt.Sprintf("lock-%s-%010d", guid, counter)
			czxid[name] = int64(i + 1)
			if rapid.Bool().Draw(t, "alive") {
				alive = append(alive, name)
			}
			counter = nextSequence(counter, sticks)
		}
		conn := &listing{names: rapid.Permutation(alive).Draw(t, "listed"), czxid: czxid}
		link := newRetryConn(conn)
		members, err := link.members(t.Context(), "/d", link.children, "lock-")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range members {
			got = append(got, m.name)
		}
		if !slices.Equal(got, alive) {
			t.Fatalf("order %q, created %q", got, alive)
		}
	})
}

// listing is a Conn that knows one directory.
type listing struct {
	Conn
	names   []string
	czxid   map[string]int64
	session int64
	forgets bool // at the next Exists: a new session, at a server that knows nothing yet
}

func (l *listing) SessionID() int64 { return l.session }

func (l *listing) Children(string) ([]string, *zk.Stat, error) { return l.names, &zk.Stat{}, nil }

func (l *listing) Exists(path string) (bool, *zk.Stat, error) {
	if l.forgets {
		l.forgets = false
		l.session++
		return false, &zk.Stat{}, nil
	}
	czxid, ok := l.czxid[path[len("/d/"):]]
	return ok, &zk.Stat{Czxid: czxid}, nil
}

// What a new session sees at a server that lags says nothing about a list of the old session.
func TestMembersOfTwoSessions(t *testing.T) {
	first, second := "lock-0a-2147483647", "lock-0b-2147483647"
	conn := &listing{names: []string{second, first}, czxid: map[string]int64{first: 1, second: 2}, forgets: true}
	link := newRetryConn(conn)
	members, err := link.members(t.Context(), "/d", link.children, "lock-")
	if err != nil || len(members) != 2 || members[0].name != first {
		t.Errorf("members = %+v, %v", members, err)
	}
}

// Property: compareMembers is a total order.
func TestCompareMembersIsTotal(t *testing.T) {
	member := rapid.Custom(func(t *rapid.T) member {
		return member{
			name:     rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"),
			sequence: rapid.Int64Range(-2, 2).Draw(t, "sequence"),
			czxid:    rapid.Int64Range(0, 2).Draw(t, "czxid"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := member.Draw(t, "a"), member.Draw(t, "b"), member.Draw(t, "c")
		if compareMembers(a, b) != -compareMembers(b, a) {
			t.Fatal("not antisymmetric")
		}
		if (compareMembers(a, b) == 0) != (a == b) {
			t.Fatal("not total")
		}
		if compareMembers(a, b) <= 0 && compareMembers(b, c) <= 0 && compareMembers(a, c) > 0 {
			t.Fatal("not transitive")
		}
	})
}

func TestParseMember(t *testing.T) {
	for _, test := range []struct {
		name     string
		ok       bool
		guid     string
		sequence int64
	}{
		{"lock-00ff-0000000007", true, "00ff", 7},
		{"lock-00ff-2147483647", true, "00ff", math.MaxInt32},
		{"lock-00ff--2147483648", true, "00ff", math.MinInt32},
		{"lock-00ff--000000001", true, "00ff", -1},
		{"lock-00ff-+000000001", false, "", 0},
		{"lock-00ff-7", false, "", 0},
		{"lock-00ff-2147483648", false, "", 0},
		{"lock-0000000007", false, "", 0},
		{"lock--0000000007", false, "", 0},
		{"claim-00ff", false, "", 0},
		{"", false, "", 0},
	} {
		m, ok := parseMember("lock-", test.name)
		if ok != test.ok || ok && (m.guid != test.guid || m.sequence != test.sequence || m.name != test.name) {
			t.Errorf("parseMember(%q) = %+v, %v", test.name, m, ok)
		}
	}
}
