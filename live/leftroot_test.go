package live

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/zkclient"
	"github.com/zktorture/zktorture/recipes"
)

// The mark that docs/live.md shows is read, and written as it is there.
func TestShownMark(t *testing.T) {
	page, err := os.ReadFile("../docs/live.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```text\n"+markFormat)
	text, _, _ = strings.Cut(markFormat+text, "```")
	if mark, ok := parseMark([]byte(text)); !ok || string(mark.data()) != text {
		t.Errorf("%q is no mark: written it would be %q", text, mark.data())
	}
}

// Property: a mark is read as it was written, and nothing else is taken for one.
func TestMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mark := newMark()
		if got, ok := parseMark(mark.data()); !ok || got != mark {
			t.Fatalf("%+v was read as %+v, %v", mark, got, ok)
		}
		broken := mark.data()
		broken = broken[:rapid.IntRange(0, len(broken)-3).Draw(t, "length")]
		if _, ok := parseMark(broken); ok {
			t.Fatalf("%q is taken for a mark", broken)
		}
	})
	for _, data := range []string{"", "{}", markFormat, markFormat + "{}\n", markFormat + "null",
		" " + string(newMark().data())} {
		if _, ok := parseMark([]byte(data)); ok {
			t.Errorf("%q is taken for a mark", data)
		}
	}
}

// clients are clients of one server.
func clients(t *testing.T, server string) (client *zkclient.Client, another func() *zkclient.Client) {
	t.Helper()
	connect := func() *zkclient.Client { return ensembletest.Witness(t, server) }
	return connect(), connect
}

// served is the address of a server in this process.
func served(t *testing.T) string {
	return fakezktest.Start(t, server.Config{}).ConnectString()
}

func create(t *testing.T, c *zkclient.Client, path, data string) {
	t.Helper()
	if _, err := c.Create(path, []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func exists(t *testing.T, c *zkclient.Client, path string) bool {
	t.Helper()
	ok, _, err := c.Exists(path)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// What a killed run has left is found, is left alone while its session lives, and is removed; nothing else is.
func TestLeftRoots(t *testing.T) {
	admin, another := clients(t, ensembletest.Start(t, 1).ConnectString())
	killed := another()
	create(t, admin, "/theirs", "")
	for _, root := range []string{"/a", "/theirs/root"} {
		if _, err := claimRoot(killed, root); err != nil {
			t.Fatal(err)
		}
		create(t, killed, root+"/r0", "x")
		create(t, killed, root+"/r0/lock", "")
	}
	create(t, admin, "/precious", markFormat)
	create(t, admin, "/precious/child", "")

	found, err := FindLeftRoots(admin, "/")
	if err != nil || len(found) != 1 || found[0].Path != "/a" || found[0].Nodes() != 5 ||
		!slices.Equal(found[0].Sessions, []int64{killed.SessionID()}) {
		t.Fatalf("found %+v, %v", found, err)
	}
	if err := found[0].Remove(admin); !errors.Is(err, ErrRoot) || !exists(t, admin, "/a/r0/lock") {
		t.Errorf("a root in use: %v", err)
	}
	if _, err := ReadLeftRoot(admin, "/precious"); !errors.Is(err, ErrRoot) {
		t.Errorf("a root without a mark: %v", err)
	}
	if _, err := claimRoot(admin, "/a"); !errors.Is(err, ErrRoot) || !strings.Contains(err.Error(), "torture clean") {
		t.Errorf("a root of another run: %v", err)
	}

	killed.Close()
	for _, root := range []string{"/a", "/theirs/root"} {
		left, err := ReadLeftRoot(admin, root)
		if err != nil || len(left.Sessions) > 0 || left.Nodes() != 4 {
			t.Fatalf("%+v, %v", left, err)
		}
		if err := left.Remove(admin); err != nil {
			t.Error(err)
		}
	}
	names, _, err := admin.Children("/")
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"precious", "theirs", "zookeeper"}) ||
		!exists(t, admin, "/precious/child") {
		t.Errorf("left: %q, %v", names, err)
	}
}

// What has changed since it was seen is not removed.
func TestLeftRootChanged(t *testing.T) {
	admin, another := clients(t, served(t))
	killed := another()
	roots := []string{"/written", "/grown", "/intact"}
	for _, root := range roots {
		if _, err := claimRoot(killed, root); err != nil {
			t.Fatal(err)
		}
		create(t, killed, root+"/r0", "")
	}
	killed.Close()
	seen := map[string]LeftRoot{}
	for _, root := range roots {
		var err error
		if seen[root], err = ReadLeftRoot(admin, root); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := admin.Set("/written/r0", []byte("mine"), -1); err != nil {
		t.Fatal(err)
	}
	create(t, admin, "/grown/r0/mine", "")
	for _, root := range roots {
		removed := root == "/intact"
		if err := seen[root].Remove(admin); (err == nil) != removed || exists(t, admin, root) == removed {
			t.Errorf("%s: %v", root, err)
		}
	}
	for _, kept := range []string{"/written/r0", "/grown/r0/mine"} {
		if !exists(t, admin, kept) {
			t.Errorf("%s is gone", kept)
		}
	}
}

// A mark that was put on older znodes does not let them be removed; and a root that cannot be read does
// not keep others from being removed.
func TestForgedMarks(t *testing.T) {
	admin, another := clients(t, served(t))
	create(t, admin, "/victim", "")
	create(t, admin, "/victim/precious", "data")
	create(t, admin, "/victim/precious/deep", "data")
	if _, err := admin.Set("/victim", newMark().data(), -1); err != nil {
		t.Fatal(err)
	}
	killed := another()
	for _, root := range []string{"/before", "/zlast"} {
		if _, err := claimRoot(killed, root); err != nil {
			t.Fatal(err)
		}
	}
	create(t, admin, "/secret", string(newMark().data()))
	if _, err := admin.Create("/secret/closed", nil, 0, zk.DigestACL(zk.PermAll, "nobody", "x")); err != nil {
		t.Fatal(err)
	}
	killed.Close()
	found, err := FindLeftRoots(admin, "/")
	if err == nil || !errors.Is(err, ErrRoot) || !errors.Is(err, zk.ErrNoAuth) ||
		!strings.Contains(err.Error(), "/victim is older than its mark") {
		t.Errorf("what cannot be removed: %v", err)
	}
	if len(found) != 2 || found[0].Path != "/before" || found[1].Path != "/zlast" {
		t.Fatalf("found %+v", found)
	}
	for _, root := range found {
		if err := root.Remove(admin); err != nil {
			t.Error(err)
		}
	}
	names, _, err := admin.Children("/")
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"secret", "victim", "zookeeper"}) ||
		!exists(t, admin, "/victim/precious/deep") {
		t.Errorf("left: %q, %v", names, err)
	}
}

// While a root is being removed its run, if it lives after all, knows that it has lost it; and a root that was made
// anew since it was looked at is not removed.
func TestRemoversAndRuns(t *testing.T) {
	admin, another := clients(t, served(t))
	c := another()
	own, err := claimRoot(c, "/root")
	if err != nil {
		t.Fatal(err)
	}
	seen, err := ReadLeftRoot(admin, "/root")
	if err != nil {
		t.Fatal(err)
	}
	seen.Sessions = nil // as if its session had ended when somebody looked
	if err := seen.Remove(admin); !errors.Is(err, ErrRoot) || !strings.Contains(err.Error(), "in use again") {
		t.Errorf("a root that was put in use again: %v", err)
	}
	if err := c.Delete("/root/"+inUse, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Create("/root/"+inUse, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if err := own.hold(c); !errors.Is(err, ErrRootLost) {
		t.Errorf("a root that somebody is removing: %v", err)
	}
	if err := own.release(c); !errors.Is(err, ErrRootLost) || !exists(t, admin, "/root") {
		t.Errorf("a root that somebody is removing: %v", err)
	}
	if err := admin.Delete("/root/"+inUse, -1); err != nil {
		t.Fatal(err)
	}
	if err := own.release(c); err != nil {
		t.Fatal(err)
	}
	if _, err := claimRoot(c, "/root"); err != nil { // another run
		t.Fatal(err)
	}
	if err := c.Delete("/root/"+inUse, -1); err != nil {
		t.Fatal(err)
	}
	if err := seen.Remove(admin); !errors.Is(err, ErrRoot) || !strings.Contains(err.Error(), "made it again") ||
		exists(t, admin, "/root/"+inUse) {
		t.Errorf("a root that was made anew: %v", err)
	}
}

// Nothing of the servers' own is a root: they would not let it go again.
func TestRootOfTheServers(t *testing.T) {
	c := ownServer(t)
	before := readAll(t, c, "/")
	for _, root := range []string{"/zookeeper", "/zookeeper/quota", "/zookeeper/new", "/zookeeper/quota/deep/er"} {
		if _, err := claimRoot(c, root); !errors.Is(err, ErrRoot) || !strings.Contains(err.Error(), "the servers' own") {
			t.Errorf("%s: %v", root, err)
		}
	}
	if after := readAll(t, c, "/"); !maps.Equal(before, after) {
		t.Errorf("before: %v\nafter: %v", before, after)
	}
	if _, err := claimRoot(c, "/zookeepers"); err != nil {
		t.Error(err)
	}
}

// A root whose end was carried out, and the reply lost, is released.
func TestReleaseLosesItsReply(t *testing.T) {
	c := ownServer(t)
	own, err := claimRoot(c, "/root")
	if err != nil {
		t.Fatal(err)
	}
	create(t, c, "/root/r0", "")
	losing := &losing{Conn: c}
	deaf := &patient{Conn: losing, ctx: t.Context(), limit: time.Minute}
	if err := own.release(deaf); err != nil || !losing.lost || exists(t, c, "/root") {
		t.Errorf("%v, lost %v", err, losing.lost)
	}
}

// losing loses the reply to the transaction that ends a root, and that to the one that makes it.
type losing struct {
	recipes.Conn
	lost bool
}

func (l *losing) Multi(ops ...any) ([]zk.MultiResponse, error) {
	answer, err := l.Conn.Multi(ops...)
	ends, is := ops[len(ops)-1].(*zk.DeleteRequest)
	if err == nil && !l.lost && (!is || ends.Path == "/root") {
		l.lost = true
		return nil, zk.ErrConnectionClosed
	}
	return answer, err
}

// ownServer is a client of a server in this process.
func ownServer(t *testing.T) *zkclient.Client {
	t.Helper()
	return ensembletest.Witness(t, served(t))
}

// readAll returns the data and the version of every znode at and below a path.
func readAll(t *testing.T, c *zkclient.Client, p string) map[string]string {
	t.Helper()
	_, stat, err := c.Exists(p)
	tree := map[string]*zk.Stat{p: stat}
	if err := errors.Join(err, readBelow(c, p, tree)); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for at := range tree {
		data, stat, err := c.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		all[at] = fmt.Sprintf("%q %+v", data, *stat)
	}
	return all
}

// A root that exists is no run's, and of several runs one gets a new one, also if the reply to its first request is lost.
func TestClaimOnce(t *testing.T) {
	admin, another := clients(t, served(t))
	create(t, admin, "/there", "")
	for root, why := range map[string]string{"/there": "it is there already", "/no/where": "there is no /no"} {
		if _, err := claimRoot(admin, root); !errors.Is(err, ErrRoot) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", root, err)
		}
	}
	losing := &losing{Conn: admin}
	if _, err := claimRoot(&patient{Conn: losing, ctx: t.Context(), limit: time.Minute}, "/root"); err != nil || !losing.lost {
		t.Errorf("%v, lost %v", err, losing.lost)
	}
	const runs = 8
	claims, winner := make(chan error, runs), make(chan *ownRoot, runs)
	for _, c := range []*zkclient.Client{admin, another()} {
		for range runs / 2 {
			go func() {
				own, err := claimRoot(c, "/once")
				if err == nil {
					winner <- own
				}
				claims <- err
			}()
		}
	}
	got := 0
	for range runs {
		if err := <-claims; err == nil {
			got++
		} else if !errors.Is(err, ErrRoot) {
			t.Error(err)
		}
	}
	if got != 1 {
		t.Errorf("%d runs got the same root", got)
	}
	if err := (<-winner).release(admin); err != nil {
		t.Error(err)
	}
}
