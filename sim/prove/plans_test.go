package prove_test

import (
	"context"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit/broken"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// crowded is a correct counter until two users add at once.
type crowded struct {
	*recipes.Counter
	adding *int
}

func (c *crowded) Add(ctx context.Context, delta int64) (int64, error) {
	*c.adding++
	defer func() { *c.adding-- }()
	sum, err := c.Counter.Add(ctx, delta)
	if *c.adding > 1 {
		sum++
	}
	return sum, err
}

// A search covers what two users of a client do only if it may give a client two.
func TestSearchOfTwoUsers(t *testing.T) {
	for users, want := range map[int]sim.Verdict{1: sim.VerdictOK, 2: sim.VerdictViolation} {
		adding := 0
		w := workload.Counter(func(c recipes.Conn, path string) workload.Adder {
			return &crowded{recipes.NewCounter(c, path), &adding}
		})
		r, err := sim.Run(t.Context(), w, sim.Config{Strategy: sim.Exhaustive, Clients: 1, Users: users, Ops: 1,
			NoFaultsAtAll: true, NoShrink: true})
		if err != nil || r.Verdict != want || adding != 0 {
			t.Errorf("%d users: %v, want %v; %d add", users, r.Verdict, want, adding)
		}
	}
}

// With one operation for each user a user adds twice at most, the second time in its final operation.
func TestEachUserHasOpsOperationsAndAFreshOne(t *testing.T) {
	for _, additions := range []int{2, 3} {
		w := workload.Counter(broken.NewTiring(additions))
		for _, plain := range []bool{false, true} {
			r, err := sim.Run(t.Context(), w, sim.Config{Strategy: sim.Exhaustive, Plain: plain, Clients: 2, Ops: 1,
				NoFaultsAtAll: true, NoShrink: true})
			if broken := r.Verdict == sim.VerdictViolation; err != nil || broken != (additions == 2) {
				t.Errorf("plain %v: the addition number %d of a user is wrong: %v, %v", plain, additions, r.Verdict, err)
			}
		}
	}
}
