package zoo

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
)

// Hashes do not see what judges say. So it is written down by which property each known bug is found, and in which episode;
// and how often each property breaks in its first 100 episodes. The search is repeated with ZKTORTURE_THOROUGH=all (make
// thorough) and when the file is written anew: go test ./zoo -run RecordedProperties -update.
func TestRecordedProperties(t *testing.T) {
	testkit.ManyWorlds(t)
	const file = "testdata/properties.txt"
	text, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	recorded := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		recorded[fields[0]] = fields
	}
	var all strings.Builder
	for _, a := range KnownBugs() {
		if a.Exact { // see TestExactKnownBugs
			continue
		}
		was := recorded[a.ID]
		now := was[:min(3, len(was))]
		if *update || testkit.Thorough() {
			now = []string{a.ID, a.Property, foundIn(t, a)}
		}
		now = slices.Concat(now, brokenIn(t, a, 100))
		fmt.Fprintln(&all, strings.Join(now, " "))
		if !slices.Equal(now, was) && !*update {
			t.Errorf("%s has %q, and now it is %q", file, was, now)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// foundIn is the episode in which a known bug is found, from 1.
func foundIn(t *testing.T, a KnownBug) string {
	t.Helper()
	for _, f := range episodesOf(t, a, EpisodesMax, a.Property).Violations {
		return fmt.Sprint(f.Episode + 1)
	}
	return "never"
}

// brokenIn lists the properties that break in the first episodes, and in how many of them each does.
func brokenIn(t *testing.T, a KnownBug, episodes int) (all []string) {
	t.Helper()
	for _, f := range episodesOf(t, a, episodes, "").Violations {
		all = append(all, fmt.Sprintf("%s=%d", f.Property, f.Times))
	}
	slices.Sort(all)
	return all
}

func episodesOf(t *testing.T, a KnownBug, episodes int, until string) sim.Result {
	t.Helper()
	r, err := sim.Run(t.Context(), a.Broken(), sim.Config{
		Strategy: "mix", Until: until, Episodes: episodes, Seed: 1, Faults: a.Faults(), NoFaultsAtAll: true,
		Clients: a.Clients, Once: true, NoShrink: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
