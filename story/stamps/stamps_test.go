package stamps

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/story"
)

// The operations around the cited ones are shown, each once.
func TestNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h linearizability.History
		for i, call := range rapid.Permutation(rapid.SliceOfNDistinct(rapid.Int64Range(0, 1000), 1, 40,
			rapid.ID).Draw(t, "calls")).Draw(t, "order") {
			h = append(h, linearizability.Operation{Client: i, Op: "poll", Call: call, Return: call + 5})
		}
		chosen := rapid.SliceOf(rapid.IntRange(0, len(h)-1)).Draw(t, "asked")
		asked := func(o linearizability.Operation) bool { return slices.Contains(chosen, o.Client) }
		around := rapid.IntRange(0, 5).Draw(t, "around")
		if d := cmp.Diff(nearPlain(h, around, asked), near(h, around, asked),
			cmp.Comparer(func(a, b linearizability.Operation) bool { return a == b })); d != "" {
			t.Fatal(d)
		}
	})
}

// nearPlain is the reference: an operation is shown if, sorted by call, a cited one is near.
func nearPlain(h linearizability.History, around int,
	asked func(linearizability.Operation) bool) (shown linearizability.History) {
	sorted := slices.Clone(h)
	slices.SortFunc(sorted, func(a, b linearizability.Operation) int { return int(a.Call - b.Call) })
	for i, o := range sorted {
		if slices.ContainsFunc(sorted[max(0, i-around):min(len(sorted), i+around+1)], asked) {
			shown = append(shown, o)
		}
	}
	return shown
}

// A large history makes a small story of the operations that break the model.
func TestLargeHistory(t *testing.T) {
	var h linearizability.History
	add := func(client int, op string, arg, result linearizability.Value) {
		at := int64(10 * len(h))
		h = append(h, linearizability.Operation{Client: client, Op: op, Arg: arg, Result: result,
			Call: at, Return: at + 5})
	}
	for i := range 100_000 {
		v := linearizability.Str(fmt.Sprint("v", i))
		add(1, "offer", v, linearizability.Null)
		add(2, "poll", linearizability.Null, v)
		if i == 70_000 {
			add(3, "poll", linearizability.Null, v)
		}
	}
	verdict := linearizability.Check(linearizability.Queue(), h, 0)[0]
	s := Verdict("queue", h, verdict, 2)
	data, err := json.Marshal(s)
	if err != nil || len(data) > 20_000 {
		t.Errorf("the story takes %d bytes: %v", len(data), err)
	}
	asked := 0
	for _, o := range s.Operations {
		if o.Cited {
			asked++
		}
	}
	if asked != 3 || len(s.Operations) > 3*5 || s.Left != len(h)-len(s.Operations) ||
		len(s.Events) != 2*len(s.Operations) {
		t.Errorf("%d of %d operations are involved, %d are left out", asked, len(s.Operations), s.Left)
	}
	text := s.Text(story.TextOptions{})
	for _, want := range []string{"breaks duplicate, judged as queue", "* 1400005  └ offer(v70000) ok",
		"└ poll() ok: v70000", fmt.Sprintf("not shown: %d more of the history's operations", s.Left)} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// The story of a whole history has all its operations, by call; that of a long one has the first.
func TestWholeHistory(t *testing.T) {
	for _, n := range []int{1, 5, wholeMax, wholeMax + 7} {
		var h linearizability.History
		for i := range n {
			at := int64(10 * (n - i))
			h = append(h, linearizability.Operation{Client: i % 3, Op: "acquire", Call: at, Return: at + 5})
		}
		s := Whole(h, "orphan", "a znode is left")
		shown := min(n, wholeMax)
		if len(s.Operations) != shown || len(s.Events) != 2*shown || s.Left != n-shown ||
			s.Message != "a znode is left" {
			t.Errorf("of %d operations %d are told and %d left out", n, len(s.Operations), s.Left)
		}
		for i, o := range s.Operations {
			if o.Call != int64(10*(i+1)) || o.Cited {
				t.Fatalf("operation %d is %+v", i, o)
			}
		}
		if !strings.Contains(s.Text(story.TextOptions{}), "orphan") {
			t.Error("the story does not say what broke")
		}
	}
}

// A coloured story has no escape sequences but its own.
func TestNothingSteersTheTerminal(t *testing.T) {
	steering := "\x1b[7minverse\x1b]0;pwned\a\u009b2J\r\b\u202e"
	h := linearizability.History{
		{Client: 1, Op: "offer", Arg: linearizability.Str(steering), Object: steering, Outcome: linearizability.OK,
			Call: 1, Return: 2},
		{Client: 2, Op: "poll", Result: linearizability.Str(steering + "x"), Object: steering,
			Outcome: linearizability.OK, Call: 3, Return: 4},
	}
	s := Part(h, steering, steering, 3, func(linearizability.Operation) bool { return true })
	s.Commands = []story.Command{{Name: steering, Line: steering}}
	for _, color := range []bool{false, true} {
		text := s.Text(story.TextOptions{Color: color})
		rest := text
		if color {
			rest = regexp.MustCompile("\x1b\\[(0|1|2|31|33)m").ReplaceAllString(text, "")
		}
		if bad := regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{202e}]`).FindAllString(rest, -1); bad != nil {
			t.Errorf("color %t: %q in %q", color, bad, text)
		}
	}
}
