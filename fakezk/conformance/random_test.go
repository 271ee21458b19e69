package conformance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/internal/testkit"
)

// TestRandomScripts plays scripts that are drawn on two fakes, one of them behind a port, and one real server, which
// must answer alike to the last number. Each script has a root znode of its own; the servers go
// through all of them, so that their transaction numbers stay equal only if they always were.
func TestRandomScripts(t *testing.T) {
	testkit.NeedServers(t)
	real_, fakes := newReal(t, setup{}), map[string]*side{"fake": newFake(setup{}), "served": newServed(t, setup{})}
	scripts := 0
	rapid.Check(t, func(t *rapid.T) {
		scripts++
		script := drawScript(t, fmt.Sprintf("/s%d", scripts))
		want := mustPlay(t, real_, script)
		for name, fake := range fakes {
			got := mustPlay(t, fake, script)
			if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
				t.Fatalf("the %s differs from the real server (-real +%[1]s):\n%s\n"+
					"The script, as the real server answers it:\n%s", name, d, want)
			}
		}
	})
}

func mustPlay(t *rapid.T, s *side, script string) string {
	out, err := newPlayer(s).play(script)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// generator draws a script. Containers and TTL znodes that can run out, and sessions that do, are
// left to the transcripts: when that happens is not the same on both sides.
type generator struct {
	t      *rapid.T
	root   string
	labels int
	cut    map[string]bool
}

var names = []string{"a", "b", "c"}

func drawScript(t *rapid.T, root string) string {
	g := &generator{t: t, root: root, cut: map[string]bool{}}
	lines := []string{"connect a", "connect b", "connect c", "a create " + root + ` ""`}
	t.Repeat(map[string]func(*rapid.T){"command": func(*rapid.T) { lines = append(lines, g.command()) }})
	for _, name := range names { // all sessions end, so that the next script begins as this one did
		if g.cut[name] {
			lines = append(lines, name+" heal")
		}
		lines = append(lines, name+" close")
	}
	return strings.Join(lines, "\n") + "\n"
}

func (g *generator) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(g.t, label)
}

func (g *generator) command() string {
	name := g.pick("client", names...)
	if g.cut[name] {
		g.cut[name] = false
		return name + " heal"
	}
	return name + " " + g.action(name)
}

func (g *generator) action(name string) string {
	switch kind := rapid.IntRange(0, 39).Draw(g.t, "action"); {
	case kind < 9:
		return "create " + g.create()
	case kind < 12:
		return "set " + g.set()
	case kind < 17:
		return "delete " + g.delete()
	case kind < 29:
		return g.pick("read", "exists", "get", "children") + " " + g.path() + g.watch()
	case kind < 33:
		return "multi " + g.multi()
	case kind < 35:
		return "setacl " + g.path() + " " + g.version() + g.acl()
	case kind < 36:
		return "acl " + g.path()
	case kind < 37:
		return "auth digest " + g.pick("who", `"ann:secret"`, `"bob:secret"`)
	case kind < 38:
		return "ttl " + g.path() + ` "" 1h` + g.pick("sequential", "", " sequential")
	case kind < 39:
		return g.pick("sync", "sync "+g.path(), `sync "/語"`, "sync /./a", "reconfig")
	}
	g.cut[name] = true
	return "cut"
}

// path is mostly one of a few, so that commands meet.
func (g *generator) path() string {
	return g.root + g.pick("path", "/x", "/x", "/x", "/x/y", "/x/y", "", "/y", "/x0000000001", "/x/0000000000",
		"/x/y/z")
}

func (g *generator) create() string {
	path := g.path()
	mode := g.pick("mode", "", "", "", " ephemeral", " sequential", " ephemeral-sequential")
	if strings.HasSuffix(mode, "sequential") {
		path += g.pick("suffix", "", "/") // of a child, or of a name
	}
	return path + " " + g.data() + mode + g.pick("list", "", "", "", "", g.acl())
}

func (g *generator) set() string { return g.path() + " " + g.data() + " " + g.version() }

func (g *generator) delete() string { return g.path() + " " + g.version() }

func (g *generator) data() string { return g.pick("data", `""`, "null", `"d"`, `"data"`) }

func (g *generator) version() string {
	return g.pick("version", "-1", "-1", "-1", "-1", "0", "1", "2", "-2")
}

func (g *generator) watch() string {
	if !rapid.Bool().Draw(g.t, "watch") {
		return ""
	}
	g.labels++
	return fmt.Sprintf(" watch=W%d", g.labels)
}

func (g *generator) acl() string {
	return " acl=" + g.pick("acl", "world:anyone:cdrwa", "world:anyone:cdrwa", "world:anyone:r", "world:anyone:cdwa",
		"auth::cdrwa", "digest:ann:7RJfAeIvrl4zdj6sS2fXrQHDvHM=:cdrwa,world:anyone:r",
		`"digest:語:x:r,world:anyone:cdrwa"`, "")
}

func (g *generator) multi() string {
	var ops []string
	for range rapid.IntRange(0, 4).Draw(g.t, "operations") {
		ops = append(ops, g.operation())
	}
	return strings.Join(ops, " ; ")
}

func (g *generator) operation() string {
	switch verb := g.pick("operation", "create", "create", "set", "delete", "check"); verb {
	case "create":
		return verb + " " + g.create()
	case "set":
		return verb + " " + g.set()
	default:
		return verb + " " + g.delete()
	}
}
