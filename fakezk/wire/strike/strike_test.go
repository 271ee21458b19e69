package strike

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
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
	for name, odds := range map[string]Odds{"every": {Every: 20}, "by the minute": {PerMinute: 30}} {
		l := Lottery{Ways: ways, Faults: some, Odds: odds, Seed: 7}
		times := map[Way]float64{}
		total := 0.0
		for i := range n {
			if what, due := l.Draw(i%100, i/100, 100*time.Millisecond); due {
				total++
				times[what.Way]++
				if what.Share < what.Least || what.Share > what.Most {
					t.Errorf("%s lasts for %g of the timeout", string(what.Fault)+" "+what.Variant, what.Share)
				}
			}
		}
		p := odds.chance(100 * time.Millisecond)
		if mean, deviation := n*p, math.Sqrt(n*p*(1-p)); math.Abs(total-mean) > 5*deviation {
			t.Errorf("%s: %g of %d requests drew a fault, %g are meant", name, total, n, mean)
		}
		for _, v := range ways {
			if times[v] < total/60 {
				t.Errorf("%s: %s was drawn %g times of %g", name, string(v.Fault)+" "+v.Variant, times[v], total)
			}
		}
	}
}

// A minute of requests has the faults of a minute, however many requests they are.
func TestPerMinute(t *testing.T) {
	odds := Odds{PerMinute: 0.6}
	for _, requests := range []int{1, 10, 1000} {
		none := math.Pow(1-odds.chance(time.Minute/time.Duration(requests)), float64(requests))
		if math.Abs(none-math.Exp(-0.6)) > 1e-6 {
			t.Errorf("%d requests in a minute draw nothing with probability %g", requests, none)
		}
	}
}

// What is drawn depends on seed, client and request, on all three, and on nothing else.
func TestDrawAgain(t *testing.T) {
	story := func(seed uint64, client int) string {
		l := Lottery{Ways: ways, Faults: some, Odds: Odds{Every: 10}, Seed: seed}
		var told strings.Builder
		for i := range 1000 {
			if what, due := l.Draw(client, i, 0); due {
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
	l := Lottery{Ways: ways, Faults: some, Odds: Odds{Every: 20}, Seed: 7}
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

// What has been written is read, and is to happen again.
func TestPlan(t *testing.T) {
	lines := `
{"time":"2026-11-21T18:40:07.53126Z","fault":"watch","variant":"held","for_ms":30,"client":3,"request":41}
{"fault":"stop","for_ms":7,"target":2,"client":1,"request":41}
{"fault":"loss","variant":"answer","client":2,"request":0}
{"fault":"stall","for_ms":7,"client":1,"request":2}
`
	plan, err := ReadPlan(strings.NewReader(lines), append(slices.Clone(ways), Way{Fault: Ignore, Most: 1}), 2)
	if err != nil || len(plan) != 4 || plan[Place{1, 2}].Fault != Ignore {
		t.Fatal(plan, err)
	}
	if _, planned := plan[Place{2, Hello}]; !planned {
		t.Errorf("%+v", plan)
	}
	held, stop := plan[Place{3, 41}], plan[Place{1, 41}]
	if held.Variant != "held" || held.Lasts() != 30*time.Millisecond || stop.Fault != Stop || stop.Target != 2 {
		t.Errorf("%+v %+v", held, stop)
	}
}

func TestPlanRefuses(t *testing.T) {
	const fault, variant, at = `{"fault":`, `,"variant":`, `,"client":1,"request":2}`
	for _, test := range []struct{ lines, says string }{
		{"rain", "line 1: not a fault that struck: invalid character"},
		{`{"round":1}`, `line 1: not a fault that struck: json: unknown field "round"`},
		{fault + `"rain"` + at, `no fault "rain" with the variant ""`},
		{fault + `"loss"` + variant + `"late"` + at, `no fault "loss" with the variant "late"`},
		{fault + `"loss"` + variant + `"after","client":1}`, "client 1, request 0: both count from 1"},
		{fault + `"loss"` + variant + `"after","request":1}`, "client 0, request 1"},
		{fault + `"loss"` + variant + `"answer","request":0}`, "client 0, request 0"},
		{fault + `"loss"` + variant + `"answer","client":1,"request":-1}`, "only an answer can be lost at request 0"},
		{fault + `"watch"` + variant + `"held","for_ms":300001` + at, "for_ms 300001"},
		{fault + `"stop","for_ms":-1,"target":1` + at, "for_ms -1"},
		{fault + `"stop","for_ms":1` + at, "target 0: stop can strike servers 1 to 2"},
		{fault + `"stop","for_ms":1,"target":3` + at, "target 3: stop"},
		{fault + `"deposed","for_ms":1,"target":1` + at, "deposed takes 3 servers, and there are 2"},
		{fault + `"loss"` + variant + `"after","target":1` + at, "target 1: loss does not strike a server"},
		{fault + `"stop","target":1` + at + "\n\n" + fault + `"stop","target":2` + at,
			"line 3: client 1's request 2 has a fault already"},
	} {
		_, err := ReadPlan(strings.NewReader(test.lines), ways, 2)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %s", test.lines, err, test.says)
		}
	}
}
