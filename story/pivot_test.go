package story

import (
	"strings"
	"testing"
)

func curve(broken ...int) *Story {
	s := newStory("order", "")
	for i, b := range broken {
		s.Curve = append(s.Curve, Point{Step: int64(i), Runs: 100, Broken: b})
		s.Clients = append(s.Clients, Client{"c", 1})
		s.Events = append(s.Events, Event{Step: int64(i), Kind: kindExchange, Client: 0, What: "create",
			Result: "ok", Answer: "ok"})
	}
	return s
}

func TestPivot(t *testing.T) {
	for _, c := range []struct {
		curve        []int
		step, sealed int64
		text         string
	}{
		{[]int{3, 5, 60, 70, 100, 100}, 2, 4, "step 2 (c: create ok): " +
			"from before it 5 of 100 random runs end in order, from after it 60; from after step 4 all"},
		{[]int{0, 100}, 1, 1, "from before it 0 of 100 random runs end in order, from after it 100"},
		{[]int{0, 50, 100, 100}, 1, 2, "from after step 2 all"},
		{[]int{0, 90, 60}, 1, -1, "from after it 90; not even the last step makes it certain"},
		{[]int{100, 100, 100}, 0, 0, "timing does not matter: " +
			"each of 100 random runs of these calls ends in order"},
		{[]int{90, 97, 92, 100}, 0, 3, "90 of 100 random runs of these calls end in order; from after step 3 all"},
	} {
		p := curve(c.curve...).pivot()
		if p.Step != c.step || p.Sealed != c.sealed || !strings.HasSuffix(p.Text, c.text) {
			t.Errorf("the pivot of %v is step %d, sealed at %d: %s", c.curve, p.Step, p.Sealed, p.Text)
		}
	}
	if p := curve().pivot(); p != nil {
		t.Errorf("the pivot of nothing is %+v", p)
	}
}

// The sparkline has a character for each step, or for each few steps, and fits the width.
func TestSparkline(t *testing.T) {
	for n := 1; n < 400; n += 7 {
		broken := make([]int, n)
		broken[0], broken[n-1] = 100, 0
		line := curve(broken...).sparkline(60)
		if length(line) > 60 || n <= 60 && length(line) != n || !strings.HasPrefix(line, "█") && n > 1 {
			t.Errorf("%d steps: %s", n, line)
		}
	}
}
