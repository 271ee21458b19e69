package strike

import (
	"math"
	"slices"
	"strings"
	"testing"
)

var (
	some = []Fault{Loss, Watch, Expiry, Stop, Deposed}
	ways = []Way{
		{Fault: Loss, Variant: "before"}, {Fault: Loss, Variant: "after"}, {Fault: Loss, Variant: Answer},
		{Fault: Watch, Variant: "held", Least: 0.05, Most: 0.8}, {Fault: Expiry, Variant: "unaware", Most: 1},
		{Fault: Stop, Least: 0.5, Most: 0.5}, {Fault: Deposed, Least: 0.5, Most: 0.5},
	}
)

// Property: as many requests draw a fault as the odds say, all ways of all faults are drawn, each for as
// long as it may last.
func TestDraw(t *testing.T) {
	const n = 100_000
	l := Lottery{Ways: ways, Faults: some, Every: 20, Seed: 7}
	times := map[Way]float64{}
	total := 0.0
	for i := range n {
		if what, due := l.Draw(i%100, i/100); due {
			total++
			times[what.Way]++
			if what.Share < what.Least || what.Share > what.Most {
				t.Errorf("%s lasts for %g of the timeout", string(what.Fault)+" "+what.Variant, what.Share)
			}
		}
	}
	const p = 1. / 20
	if mean, deviation := n*p, math.Sqrt(n*p*(1-p)); math.Abs(total-mean) > 5*deviation {
		t.Errorf("%g of %d requests drew a fault, %g are meant", total, n, mean)
	}
	for _, v := range ways {
		if times[v] < total/60 {
			t.Errorf("%s was drawn %g times of %g", string(v.Fault)+" "+v.Variant, times[v], total)
		}
	}
}

// What is drawn depends on seed, client and request, on all three, and on nothing else.
func TestDrawAgain(t *testing.T) {
	story := func(seed uint64, client int) string {
		l := Lottery{Ways: ways, Faults: some, Every: 10, Seed: seed}
		var told strings.Builder
		for i := range 1000 {
			if what, due := l.Draw(client, i); due {
				told.WriteString(string(what.Fault) + what.Variant + " ")
			}
		}
		return told.String()
	}
	if first, again := story(1, 1), story(1, 1); first != again {
		t.Error("equal draws differ")
	}
	if story(1, 1) == story(2, 1) || story(1, 1) == story(1, 2) {
		t.Error("other seeds or clients draw the same")
	}
}

func TestParse(t *testing.T) {
	for list, want := range map[string][]Fault{
		"watch,loss": {Loss, Watch}, "all": {Loss, Expiry, Watch, Stop, Deposed}, "none": nil, "all,loss, -stop ,-watch": {Loss, Expiry, Deposed},
		"all,-loss,loss": {Loss, Expiry, Watch, Stop, Deposed}, "loss,-loss": nil,
	} {
		if got, err := Parse(list, some); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %q, %v", list, got, err)
		}
	}
	for list, want := range map[string]string{
		"-loss": "-loss leaves out what is not there", "-loss,all": "-loss leaves out what is not there",
		"all,-loss,-loss": "-loss leaves out what is not there", "none,-stop": "-stop leaves out what is not there",
		"watch,-stop": "-stop leaves out what is not there", "all,-all": "-all leaves out no single fault", "all,-none": "-none leaves out no single fault",
	} {
		if _, err := Parse(list, some); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", list, err, want)
		}
	}
	for _, list := range []string{"", "loss,", "rain", "all,-", "all,-rain", "lag"} {
		_, err := Parse(list, some)
		if err == nil || !strings.HasSuffix(err.Error(), "there are loss, watch, expiry, stop, deposed, all and none") {
			t.Errorf("%q: %v", list, err)
		}
	}
}

// As many clients lose the answer to their first connect as requests draw such a loss.
func TestDrawHello(t *testing.T) {
	const n = 100_000
	l := Lottery{Ways: ways, Faults: some, Every: 20, Seed: 7}
	lost := 0.0
	for client := range n {
		if l.DrawHello(client) {
			lost++
		}
	}
	p := 1 / 20.0 / float64(len(some)) / 3 // ways of a loss
	if mean, deviation := n*p, math.Sqrt(n*p*(1-p)); math.Abs(lost-mean) > 5*deviation {
		t.Errorf("%g of %d clients, and %g are meant", lost, n, mean)
	}
	for l.Faults = []Fault{Watch}; lost > 0; lost-- {
		if l.DrawHello(int(lost)) {
			t.Fatal("an answer is lost, and only events may be")
		}
	}
}
