package recipes_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

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
