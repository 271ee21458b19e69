package zoocmd

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli"
	"github.com/zktorture/zktorture/cmd/internal/cli/reach"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/zoo"
)

// What may stay on real servers does not count as left behind: somebody else's znode, and directories of one's own.
func TestLiveLeavesWhatMayStay(t *testing.T) {
	e := ensembletest.Start(t, 3)
	bugs, err := zoo.Find([]string{"SP12", "S4"})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range bugs {
		r, err := live.Run(t.Context(), a.Fixed(), live.Config{
			Open: func(ctx context.Context) (*live.Session, error) {
				return cli.OpenSession(ctx, reach.Access{}, e.ConnectString(), false)
			},
			Root: "/stays", Seed: 1, Rounds: 6, Clients: 3, Ops: 2, Patience: time.Second,
		})
		left := func(f sim.Found) bool { return f.Property == "orphan" || f.Property == "leak" }
		if err != nil || slices.ContainsFunc(r.Violations, left) {
			t.Errorf("%s: %v, %v", a.ID, r.Violations, err)
		}
	}
}
