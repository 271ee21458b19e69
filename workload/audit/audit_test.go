package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	lin "github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim/world"
)

func TestSensitivity(t *testing.T) {
	h := lin.History{
		{Client: 1, Op: "offer", Arg: lin.Int(1), Call: 1, Return: 2},
		{Client: 1, Op: "offer", Arg: lin.Int(2), Call: 3, Return: 4},
		{Client: 2, Op: "poll", Result: lin.Int(1), Call: 5, Return: 8},
		{Client: 3, Op: "poll", Result: lin.Int(2), Call: 7, Return: 9},
		{Client: 4, Op: "poll", Outcome: lin.Unknown, Call: 11, Return: 12},
		{Client: 5, Op: "poll", Outcome: lin.Fail, Call: 7, Return: 9},
	}
	got := measure(lin.Queue(), h, 1, 0, lin.Options{Unexplained: true})
	if diff := cmp.Diff(world.Sensitivity{Episodes: 1, Operations: 5, Overlapping: 2, Unknown: 1, Missed: map[string]int{}, Broken: map[string]int{}},
		got); diff != "" {
		t.Error(diff)
	}
}

// Corruptions of a history in which nothing overlaps are all noticed: values go from client to client in
// turn, and each is missed. In one in which everything overlaps there is nothing to notice in a swap.
func TestSensitivityTellsHardFromVacuous(t *testing.T) {
	inTurn, atOnce := lin.History{}, lin.History{}
	for i := range int64(20) {
		offer := lin.Operation{Client: int(i), Op: "offer", Arg: lin.Int(i), Call: 4 * i, Return: 4*i + 1}
		poll := lin.Operation{Client: int(i), Op: "poll", Result: lin.Int(i), Call: 4*i + 2, Return: 4*i + 3}
		inTurn = append(inTurn, offer, poll)
		offer.Call, offer.Return, poll.Call, poll.Return, poll.Client = 0, 100, 0, 100, int(100+i)
		atOnce = append(atOnce, offer, poll)
	}
	hard, vacuous := measure(lin.Queue(), inTurn, 1, 400, lin.Options{Unexplained: true}), measure(lin.Queue(), atOnce, 1, 400, lin.Options{Unexplained: true})
	if hard.Corruptions != 400 || hard.Missed["swap"] != 0 || hard.Missed["duplicate"] != 0 ||
		hard.Noticed < hard.Corruptions*6/10 || hard.Broken["duplicate"] < 10 || hard.Broken["order"] < 10 {
		t.Errorf("of a history in turn: %+v", hard)
	}
	if vacuous.Missed["swap"] == 0 || vacuous.Overlapping != 40 {
		t.Errorf("of one in which everything happens at once: %+v", vacuous)
	}
}

// Each corruption is a history, does what its name says, and leaves the history as it was.
func TestCorruptions(t *testing.T) {
	h := lin.History{
		{Client: 1, Op: "acquire", Result: lin.Int(1), Call: 1, Return: 2},
		{Client: 1, Op: "release", Call: 3, Return: 5},
		{Client: 2, Op: "acquire", Result: lin.Int(2), Call: 2, Return: 7, Process: lin.Int(9)},
		{Client: 3, Op: "try", Call: 3, Return: 7},
		{Client: 3, Op: "try", Result: lin.Int(4), Call: 8, Return: 9},
		{Client: 4, Op: "acquire", Outcome: lin.Unknown, Call: 3, Return: lin.Forever},
	}
	before, seen := slices.Clone(h), map[string]int{}
	for corruption := range Corruptions(lin.Lock(), h, 1, 1000) {
		kind, c := corruption.Kind, corruption.History
		seen[kind]++
		if err := lin.Lock().Validate(c); err != nil {
			t.Fatalf("%s gave no history: %v", kind, err)
		}
		if difference := len(c) - len(h); difference != map[string]int{"duplicate": 1, "drop": -1}[kind] ||
			slices.Equal(c, h) {
			t.Fatalf("%s gave\n%s", kind, lines(c))
		}
		if (kind == "duplicate" || kind == "drop") &&
			strings.Count(lines(c), "null") != strings.Count(lines(h), "null") {
			t.Fatalf("%s of a try that was refused\n%s", kind, lines(c))
		}
		if kind == "duplicate" && c[6].Op == "acquire" && (c[6].Client != 10 || c[6].Call != c[6].Return) {
			t.Fatalf("somebody else should have been granted the lock, at once: %v", c[6])
		}
	}
	if !slices.Equal(h, before) {
		t.Errorf("the history was changed:\n%s", lines(h))
	}
	if len(seen) != 5 || seen["swap"] < 20 {
		t.Errorf("kinds: %v", seen)
	}
	for range Corruptions(lin.Lock(), h[5:], 1, 10) {
		t.Error("an operation of unknown outcome was corrupted")
	}
}

func lines(h lin.History) string {
	var b strings.Builder
	for _, op := range h {
		fmt.Fprintf(&b, "%v\n", op)
	}
	return b.String()
}
