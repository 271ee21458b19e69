package sim_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Whole campaigns are the same in every build, with all that a strategy makes of one episode for the next: the hash of a
// campaign of each kind with all faults is written down, and so is that nothing breaks. Short campaigns are compared
// always, those of 3000 episodes with ZKTORTURE_THOROUGH=all and when they are written anew:
// go test ./sim -run RecordedCampaigns -update.
func TestRecordedCampaigns(t *testing.T) {
	compareCampaigns(t, "testdata/campaigns.txt", func(w *workload.Workload) *workload.Workload { return w })
}

// compareCampaigns runs a short and a long campaign of each kind, and compares its hash with the one that the file has.
func compareCampaigns(t *testing.T, file string, of func(*workload.Workload) *workload.Workload) {
	t.Helper()
	testkit.ManyWorlds(t)
	lengths := []int{300, 3000}
	if !testkit.Thorough() && !*update {
		lengths = lengths[:1]
	}
	var now strings.Builder
	for _, k := range workload.Kinds() {
		for _, episodes := range lengths {
			cfg := sim.Config{
				Strategy: "stages", Faults: world.AllFaults, Episodes: episodes, Seed: 1, Once: true, NoShrink: true,
			}
			r := run(t, of(find(t, k.Name, workload.Ours)), cfg)
			if r.Verdict != sim.VerdictOK {
				t.Errorf("%s is %s: %s %v", k.Name, r.Verdict, r.Reason, r.Violations)
			}
			fmt.Fprintf(&now, "%s %d %016x\n", k.Name, r.Episodes, r.Hash)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	recorded := strings.SplitAfter(string(text), "\n")
	for line := range strings.Lines(now.String()) {
		if !slices.Contains(recorded, line) {
			t.Errorf("%s does not have this campaign's kind, episodes and hash: %s", file, line)
		}
	}
}
