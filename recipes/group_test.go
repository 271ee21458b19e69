package recipes_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

func wantMembers(t *testing.T, g *recipes.Group, want ...string) {
	t.Helper()
	if members, err := g.Members(t.Context()); !slices.Equal(members, want) || err != nil {
		t.Errorf("Members = %q, %v, want %q", members, err, want)
	}
}

func TestGroupRequests(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := connect(t, servers), connect(t, servers)
		ga, gb := recipes.NewGroup(a, "/g", "anna"), recipes.NewGroup(b, "/g", "bert")
		wantMembers(t, ga)
		expect(t, a, `multi 1: node does not exist
			children /g: node does not exist`)
		must(t, ga.Join(t.Context()))
		expect(t, a, `create /g/member-anna-A-: node does not exist
			create /g: ok
			create /g/member-anna-A-: ok
			children /g: ok
			getW /g/member-anna-A-0000000000: ok`)
		must(t, gb.Join(t.Context()))
		wantMembers(t, ga, "anna", "bert")
		must(t, ga.Leave(t.Context()))
		a.transcript()
		wantMembers(t, ga, "bert")
		expect(t, a, `multi 1: ok
			children /g: ok`)
		must(t, gb.Leave(t.Context()))
		wantBare(t, servers, "/g")
	})
}

// Changed waits, without asking again, until the members are others.
func TestGroupChanged(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		conn, other := connect(t, servers), recipes.NewGroup(connect(t, servers), "/g", "bert")
		g := recipes.NewGroup(conn, "/g", "anna")
		var seen []string
		await := func() underWay {
			known := slices.Clone(seen)
			return start(t, func(ctx context.Context) (err error) { seen, err = g.Changed(ctx, known); return })
		}
		w := await()
		must(t, other.Join(t.Context()))
		if !w.returned(t) || !slices.Equal(seen, []string{"bert"}) {
			t.Fatalf("Changed does not see a member join: %q", seen)
		}
		conn.transcript()
		w = await()
		if w.returned(t) {
			t.Fatal("Changed returns although nothing has changed")
		}
		expect(t, conn, `multi 1: ok
			children /g: ok
			childrenW /g: ok`)
		w.cancel()
		if err := <-w.result; err != context.Canceled {
			t.Errorf("cancelled Changed: %v", err)
		}
		seen = []string{"bert"}
		w = await() // with the watch that the last one has left
		expect(t, conn, `multi 1: ok
			children /g: ok
			children /g: ok`)
		must(t, other.Leave(t.Context()))
		if !w.returned(t) || len(seen) != 0 {
			t.Fatalf("Changed does not see a member leave: %q", seen)
		}
		wantBare(t, servers, "/g")
	})
}

// A member that dies is out when its session ends, which it learns later itself.
func TestGroupExpiry(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		conn := connect(t, servers)
		g, other := recipes.NewGroup(conn, "/g", "anna"), recipes.NewGroup(connect(t, servers), "/g", "bert")
		must(t, g.Join(t.Context()))
		lost := g.Lost()
		w := start(t, func(ctx context.Context) error { _, err := other.Changed(ctx, []string{"anna"}); return err })
		servers.Disconnect(conn.Conn)
		wantMembers(t, other, "anna")
		servers.Expire(conn.Conn)
		if !w.returned(t) {
			t.Error("nobody is told of a death")
		}
		wantMembers(t, other)
		if closed(lost) || !g.Joined() {
			t.Error("the member knows what nobody has told it")
		}
		servers.Reconnect(conn.Conn)
		if !closed(lost) || g.Joined() {
			t.Error("the member goes on believing after it was told")
		}
		if err := g.Leave(t.Context()); !errors.Is(err, recipes.ErrLost) {
			t.Errorf("Leave of who was out: %v", err)
		}
		must(t, g.Join(t.Context()))
		wantMembers(t, other, "anna")
		must(t, g.Leave(t.Context()))
		wantBare(t, servers, "/g")
	})
}

// Lost requests and replies leave a member in once, or not at all.
func TestGroupLosses(t *testing.T) {
	for _, test := range []struct {
		name, op string
		faults   []fault
	}{
		{"created", "create", []fault{loseReply}},
		{"not created", "create", []fault{loseRequest, loseReply}},
		{"list", "children", []fault{loseReply}},
		{"own znode", "getW", []fault{loseRequest}},
		{"deleted", "delete", []fault{loseReply}},
		{"not deleted", "delete", []fault{loseRequest}},
		{"sync", "sync", []fault{loseReply}},
	} {
		t.Run(test.name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				conn := connect(t, servers)
				conn.Create("/g", nil, 0, zk.WorldACL(zk.PermAll))
				conn.plan(test.op, test.faults...)
				g := recipes.NewGroup(conn, "/g", "anna")
				must(t, g.Join(t.Context()))
				wantMembers(t, g, "anna")
				must(t, g.Leave(t.Context()))
				wantMembers(t, g)
				wantBare(t, servers, "/g")
			})
		})
	}
}

// A caller that leaves while its create hangs is not in when the create comes through at last.
func TestGroupCancelledJoin(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		conn, letGo := connect(t, servers), make(chan struct{})
		conn.Create("/g", nil, 0, zk.WorldACL(zk.PermAll))
		conn.plan("create", hang(letGo))
		g := recipes.NewGroup(conn, "/g", "anna")
		w := start(t, g.Join)
		w.cancel()
		if err := <-w.result; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled Join: %v", err)
		}
		close(letGo)
		wantBare(t, servers, "/g")
		must(t, g.Join(t.Context()))
		if err := g.Join(t.Context()); err != recipes.ErrHeld {
			t.Errorf("Join of a member: %v", err)
		}
		must(t, g.Leave(t.Context()))
	})
}

// Any name comes back as it was, also beside the znodes of others.
func TestGroupNames(t *testing.T) {
	odd := rapid.SampledFrom([]string{"", "-", "a-b", "..", "a/b", "%2D", "é", "member-", "\x00"})
	name := rapid.OneOf(rapid.String(), odd)
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfN(name, 0, 4).Draw(rt, "names")
		var got []string
		synctest.Test(t, func(t *testing.T) { got = membersBesideStrangers(t, names) })
		if slices.Sort(names); !slices.Equal(got, names) {
			rt.Fatalf("members %q, want %q", got, names)
		}
	})
}

func membersBesideStrangers(t *testing.T, names []string) []string {
	servers := goclient.NewLocal(fakezk.Config{})
	conn := connect(t, servers)
	conn.Create("/g", nil, 0, zk.WorldACL(zk.PermAll))
	for _, stranger := range []string{
		"member-x", "lock-a-0000000001", "member-a-b-", "member-%ZZ-a-0000000001", "claim-1",
	} {
		conn.Create("/g/"+stranger, nil, 0, zk.WorldACL(zk.PermAll))
	}
	for _, name := range names {
		must(t, recipes.NewGroup(conn, "/g", name).Join(t.Context()))
	}
	members, err := recipes.NewGroup(conn, "/g", "").Members(t.Context())
	must(t, err)
	return members
}

// Two znodes of one join, as a deposed leader may bring about, are one member.
func TestGroupCountsAJoinOnce(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		conn := connect(t, servers)
		conn.Create("/g", nil, 0, zk.WorldACL(zk.PermAll))
		for _, name := range []string{
			"member-anna-A-0000000001", "member-anna-A-0000000003", "member-anna-B-0000000002",
		} {
			conn.Create("/g/"+name, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		}
		wantMembers(t, recipes.NewGroup(conn, "/g", ""), "anna", "anna")
	})
}
