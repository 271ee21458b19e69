package prove_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/internal/bound"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// nameless is a scribble whose judge does not look at the names of clients.
type nameless struct{ scribble }

func (s nameless) Plan(*world.Plan) world.Episode { return s }

func (s nameless) Terms() world.Terms {
	return world.Terms{Hash: func(world.Episode, bool) (_ uint64, plans []uint64, known bool) {
		for _, script := range s.scribble {
			plans = append(plans, world.HashString(strings.Join(script, " ")))
		}
		return 0, plans, false
	}}
}

func (s nameless) Judge(w *world.World) world.Judgement {
	lines, steps := told(w)
	text := ""
	for i, line := range lines {
		if i > 0 && steps[i] != steps[i-1] {
			text += "\n"
		}
		text += line + "\n"
	}
	text += "\n" + strings.Join(changesBy(w), "\n")
	return world.Judgement{Violations: []world.Violation{{Property: s.anonymous(text)}}}
}

// changesBy are the creates, and the ends, of sessions under which something was called, in their order.
func changesBy(w *world.World) (lines []string) {
	client := map[int64]int{}
	for _, op := range w.Ops() {
		client[op.SessionAt] = op.Client
	}
	for _, c := range w.Changes() {
		if of, known := client[c.Session]; known && (c.Op == wire.OpCreate || c.Op == wire.OpCloseSession) {
			lines = append(lines, fmt.Sprintf("c%d changes %v %s", of, c.Op, c.Path))
		}
	}
	return lines
}

// anonymous is the same text for executions in which clients with equal scripts have exchanged their parts: the first
// of those that renaming them gives. Who of those is first that call, or return, in the same step says nothing, nor does
// which of two sessions ends first that run out together.
func (s nameless) anonymous(text string) string {
	least := ""
	for _, order := range orders(len(s.scribble)) {
		if !s.keeps(order) {
			continue
		}
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if line == "" {
				continue
			}
			var client int
			fmt.Sscanf(line, "c%d", &client)
			lines[i] = fmt.Sprintf("c%d%s", order[client], line[2:])
		}
		sortSteps(lines)
		lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
		sortRuns(lines, " calls ")
		sortRuns(lines, ends)
		if renamed := strings.Join(lines, "\n"); least == "" || renamed < least {
			least = renamed
		}
	}
	return least
}

// keeps reports whether an order gives each client the name of one with the same script.
func (s nameless) keeps(order []int) bool {
	for a, b := range order {
		if !slices.Equal(s.scribble[a], s.scribble[b]) {
			return false
		}
	}
	return true
}

// ends says that a session ends.
var ends = fmt.Sprintf(" changes %v ", wire.OpCloseSession)

// sortSteps sorts what lies between empty lines.
func sortSteps(lines []string) {
	for begin := 0; begin < len(lines); begin++ {
		end := begin
		for end < len(lines) && lines[end] != "" {
			end++
		}
		slices.Sort(lines[begin:end])
		begin = end
	}
}

// sortRuns sorts lines with a word that follow each other.
func sortRuns(lines []string, word string) {
	for begin := 0; begin < len(lines); begin++ {
		end := begin
		for end < len(lines) && strings.Contains(lines[end], word) {
			end++
		}
		slices.Sort(lines[begin:end])
		begin = max(begin, end-1)
	}
}

// orders are all of the numbers below n.
func orders(n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, shorter := range orders(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), i, n-1))
		}
	}
	return all
}

// Which of equal clients acts first, or is struck first, cannot be seen but by their names: a search that takes one of
// them sees the same.
func TestWhichNewcomerActsFirstCannotBeSeen(t *testing.T) {
	testkit.ManyWorlds(t)
	runs := testkit.Sized(1200, 3000)
	worlds := []scribble{
		{{"make"}, {"make"}}, {{"enlist"}, {"enlist"}}, {{"tell"}, {"tell"}}, {{"await", "make"}, {"await", "make"}},
		{{"remove"}, {"make"}, {"remove"}}, {{"doze"}, {"doze"}, {"make"}}, {{"make"}, {"make"}, {"make"}},
		{{"make"}, {"list"}}, {{"make", "make"}, {"list", "list"}},
	}
	faults := []world.Faults{
		world.NoFaults, world.Loss, world.Expiry, world.Watch, world.Lag, world.Deposed, world.Cancel, world.Loss | world.Pause,
		world.Pause, world.Time, world.Reap, world.Crash, world.Stall, world.Quorum,
	}
	faults = testkit.Sized(faults[:8], faults)
	compared, fewer := 0, 0
	for _, s := range worlds {
		w := nameless{s}
		for _, f := range faults {
			cfg := sim.Config{Faults: f, AtMost: 1, Episodes: runs, Without: bound.ReduceNewcomers}
			if f == world.Loss|world.Pause {
				cfg.AtMost = 2
			}
			all, whole := seenIn(t, w, cfg)
			if whole.Word != tally.Complete {
				continue
			}
			cfg.Without = 0
			some, reduced := seenIn(t, w, cfg)
			cfg.Backwards = true
			_, back := seenIn(t, w, cfg)
			if reduced.Word != tally.Complete {
				continue
			}
			if !maps.Equal(all, some) {
				t.Errorf("%v, %v: %d and %d executions differ to their judge", w, f, len(all), len(some))
			}
			if back.Digest != reduced.Digest {
				t.Errorf("%v, %v: %v, backwards %v", w, f, reduced, back)
			}
			compared++
			fewer += whole.Ends - reduced.Ends
		}
	}
	if compared < testkit.Sized(40, 80) || fewer <= 0 {
		t.Errorf("%d searches came to their ends, with %d executions left out", compared, fewer)
	}
}
