package linearizability

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStrength(t *testing.T) {
	h := History{
		{Client: 1, Op: "offer", Arg: Int(1), Call: 1, Return: 2},
		{Client: 1, Op: "offer", Arg: Int(2), Call: 3, Return: 4},
		{Client: 2, Op: "poll", Result: Int(1), Call: 5, Return: 8},
		{Client: 3, Op: "poll", Result: Int(2), Call: 7, Return: 9},
		{Client: 4, Op: "poll", Outcome: Unknown, Call: 11, Return: 12},
		{Client: 5, Op: "poll", Outcome: Fail, Call: 7, Return: 9},
	}
	got := Measure(Queue(), h, 1, 0, Options{})
	if diff := cmp.Diff(Strength{Operations: 5, Overlapping: 2, Unknown: 1, Missed: map[string]int{}}, got); diff != "" {
		t.Error(diff)
	}
}

// Corruptions of a history in which nothing overlaps are all noticed, but for drops of what nobody
// missed; in one in which everything overlaps there is nothing to notice in a swap.
func TestStrengthTellsHardFromVacuous(t *testing.T) {
	inTurn, atOnce := History{}, History{}
	for i := range int64(20) {
		offer := Operation{Client: int(i), Op: "offer", Arg: Int(i), Call: 4 * i, Return: 4*i + 1}
		poll := Operation{Client: int(i), Op: "poll", Result: Int(i), Call: 4*i + 2, Return: 4*i + 3}
		inTurn = append(inTurn, offer, poll)
		offer.Call, offer.Return, poll.Call, poll.Return, poll.Client = 0, 100, 0, 100, int(100+i)
		atOnce = append(atOnce, offer, poll)
	}
	hard, vacuous := Measure(Queue(), inTurn, 1, 400, Options{}), Measure(Queue(), atOnce, 1, 400, Options{})
	if hard.Missed["swap"] != 0 || hard.Missed["duplicate"] != 0 || hard.Noticed < hard.Corruptions*8/10 {
		t.Errorf("of a history in turn: %+v", hard)
	}
	if vacuous.Missed["swap"] == 0 || vacuous.Overlapping != 40 {
		t.Errorf("of one in which everything happens at once: %+v", vacuous)
	}
}
