package workload

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/sim"
)

// What is to happen follows from the seed; all of it is possible, and all that is possible comes up.
func TestDrawFaults(t *testing.T) {
	const session = 2 * time.Second
	seen, none := map[string]int{}, 0
	for round := range 3000 {
		faults := drawFaults(7, round, 3, LiveFaults(), session)
		if diff := cmp.Diff(faults, drawFaults(7, round, 3, LiveFaults(), session)); diff != "" {
			t.Fatalf("round %d has other faults the second time: %s", round, diff)
		}
		if len(faults) == 0 {
			none++
		}
		for _, f := range faults {
			if err := f.check(); err != nil || f.Round != round || f.Client > 3 {
				t.Fatalf("%v: %v", f, err)
			}
			seen[f.Fault+" "+f.Variant]++
		}
	}
	for _, v := range liveVariants {
		if seen[v.name+" "+v.variant] < 100 {
			t.Errorf("%s %s comes up %d times in 3000 rounds", v.name, v.variant, seen[v.name+" "+v.variant])
		}
	}
	if none < 300 || none > 2000 {
		t.Errorf("%d of 3000 rounds have no fault", none)
	}
	if cmp.Equal(drawFaults(7, 1, 3, LiveFaults(), session), drawFaults(8, 1, 3, LiveFaults(), session)) && cmp.Equal(drawFaults(7, 2, 3, LiveFaults(), session), drawFaults(8, 2, 3, LiveFaults(), session)) {
		t.Error("two seeds have the same faults")
	}
	for round := range 200 {
		for _, f := range drawFaults(1, round, 2, sim.Cancel|sim.Watch, session) {
			if f.Fault != "cancel" && f.Fault != "watch" {
				t.Fatalf("%v is not allowed", f)
			}
		}
	}
}

// A recorded plan is read as it was drawn.
func TestFaultPlanRoundTrip(t *testing.T) {
	want, text := FaultPlan{}, ""
	for round := range 50 {
		for _, f := range drawFaults(3, round, 2, LiveFaults(), time.Second) {
			want[round] = append(want[round], f)
			line, err := json.Marshal(Strike{Fault: f, At: int64(round), Struck: round%2 == 0})
			if err != nil {
				t.Fatal(err)
			}
			text += string(line) + "\n\n"
		}
	}
	got, err := ReadFaultPlan(strings.NewReader(text))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestBadFaultPlans(t *testing.T) {
	good := `{"round":0,"client":1,"request":1,"fault":"loss","variant":"half","for_ms":5}`
	for bad, want := range map[string]string{
		`{"round":0`: "line 2", `[]`: "line 2",
		`{"round":0,"client":1,"request":1,"fault":"loss","variant":"half","for":5}`:          `unknown field "for"`,
		`{"round":0,"client":1,"request":1,"fault":"time"}`:                                   `no fault "time"`,
		`{"round":-1,"client":1,"request":1,"fault":"reap"}`:                                  "round -1",
		`{"round":0,"client":0,"request":1,"fault":"reap"}`:                                   "client 0",
		`{"round":0,"client":17,"request":1,"fault":"reap"}`:                                  "client 17",
		`{"round":0,"client":1,"request":0,"fault":"reap"}`:                                   "request 0",
		`{"round":0,"client":1,"request":1,"fault":"loss","variant":"half","for_ms":60001}`:   "60001 ms",
		`{"round":0,"client":1,"request":1,"fault":"loss","variant":"silence","for_ms":-100}`: "-100 ms",
	} {
		_, err := ReadFaultPlan(strings.NewReader(good + "\n" + bad + "\n"))
		if err == nil || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
}

// Faults that only the simulator has are named.
func TestCheckLiveFaults(t *testing.T) {
	for _, fine := range []sim.Faults{sim.NoFaults, sim.AllFaults, LiveFaults(), sim.Loss | sim.Reap} {
		if err := CheckLiveFaults(fine); err != nil {
			t.Errorf("%v: %v", fine, err)
		}
	}
	if err := CheckLiveFaults(sim.Loss | sim.Time | sim.Wrap); err == nil || !strings.Contains(err.Error(), "time,wrap cannot strike") {
		t.Error(err)
	}
}
