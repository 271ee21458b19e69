package zktorture_test

import (
	"fmt"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

// docs/rooms.svg, the picture of docs/ARCHITECTURE.md, has the packages of this module as rooms, and their imports as
// arrows. An arrow is left out where others lead the same way.
func TestPictureIsOfToday(t *testing.T) {
	g := graph{}
	for line := range strings.Lines(list(t, `{{.ImportPath}} {{join .Imports " "}}`)) {
		packages := strings.Fields(line)
		from := roomOf(packages[0])
		if from == "" {
			continue
		}
		if g[from] == nil {
			g[from] = map[string]bool{}
		}
		for _, p := range packages[1:] {
			if to := roomOf(p); to != "" && to != from {
				g[from][to] = true
			}
		}
	}
	if err := reduce(g); err != nil {
		t.Fatal(err)
	}
	var want, drawn []string
	for from, to := range g {
		want = append(want, from)
		for next := range to {
			want = append(want, from+"->"+next)
		}
	}
	for _, title := range regexp.MustCompile(`(?s)<g id="[^"]*" class="(?:node|edge)">\s*<title>(.*?)</title>`).
		FindAllStringSubmatch(testkit.File(t, "docs/rooms.svg"), -1) {
		drawn = append(drawn, html.UnescapeString(title[1]))
	}
	slices.Sort(want)
	slices.Sort(drawn)
	if !slices.Equal(drawn, want) {
		t.Errorf("docs/rooms.svg is not of today's imports; dot -Tsvg of graphviz makes it of this:\n%s", dot(g))
	}
}

// pictured are the folders that docs/rooms.svg shows as rooms. A package belongs to the one with the longest name that its own begins with.
var pictured = []string{
	"zktorture", "internal/cli",
	"live", "live/confirm", "live/outcome", "live/worker", "live/ensemble",
	"workload", "story", "story/index",
	"sim", "sim/replay", "sim/world", "sim/internal", "sim/internal/bubble", "sim/internal/line",
	"fakezk", "fakezk/fakezktest", "fakezk/server", "fakezk/protocol", "fakezk/goclient", "fakezk/wire",
	"linearizability", "recipes", "recipes/zkclient",
}

// colours are of the folders at the top.
var colours = map[string]string{
	"fakezk": "#dbeafe", "sim": "#dcfce7", "live": "#fee2e2", "zoo": "#fef3c7", "recipes": "#f3e8ff", "story": "#e0e7ff",
}

// graph has the rooms that each room imports.
type graph map[string]map[string]bool

// roomOf is the room of a package, "" if it has none: other modules, examples, small packages that many use, and what only
// tests use.
func roomOf(path string) (in string) {
	if path+"/" == module {
		return "zktorture"
	}
	name, ours := strings.CutPrefix(path, module)
	if name == "story/reworded" {
		return ""
	}
	for _, r := range pictured {
		if ours && strings.HasPrefix(name+"/", r+"/") && len(r) > len(in) {
			in = r
		}
	}
	return in
}

// reduce takes away each arrow for which there is a longer way. A circle is an error.
func reduce(g graph) error {
	reached := map[string]map[string]bool{}
	var visit func(room string, way []string) error
	visit = func(room string, way []string) error {
		if slices.Contains(way, room) {
			return fmt.Errorf("rooms import each other: %s", strings.Join(append(way, room), ", "))
		}
		if reached[room] != nil {
			return nil
		}
		all := map[string]bool{}
		for next := range g[room] {
			if err := visit(next, append(way, room)); err != nil {
				return err
			}
			maps.Copy(all, reached[next])
		}
		maps.DeleteFunc(g[room], func(next string, _ bool) bool { return all[next] })
		maps.Copy(all, g[room])
		reached[room] = all
		return nil
	}
	for _, room := range slices.Sorted(maps.Keys(g)) {
		if err := visit(room, nil); err != nil {
			return err
		}
	}
	return nil
}

func dot(g graph) string {
	var b strings.Builder
	b.WriteString("digraph {\n\tnode [shape=box style=\"filled,rounded\" fontname=Helvetica fontsize=13 height=0.35 margin=\"0.16,0.05\" color=\"#64748b\"]\n" +
		"\tedge [color=\"#64748b\" arrowsize=0.6]\n\tranksep=0.3 nodesep=0.2\n")
	for _, room := range slices.Sorted(maps.Keys(g)) {
		top, _, _ := strings.Cut(room, "/")
		colour := colours[top]
		if colour == "" {
			colour = "white"
		}
		fmt.Fprintf(&b, "\t%q [fillcolor=%q]\n", room, colour)
		for _, next := range slices.Sorted(maps.Keys(g[room])) {
			fmt.Fprintf(&b, "\t%q -> %q\n", room, next)
		}
	}
	b.WriteString("}\n")
	return b.String()
}
