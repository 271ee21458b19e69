package live

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
)

// What is to happen follows from the seed; all of it is possible, and all that is possible comes up.
func TestDrawFaults(t *testing.T) {
	const session = 2 * time.Second
	seen, none := map[string]int{}, 0
	for round := range 3000 {
		faults := drawFaults(7, round, 3, ClientFaults|ProcessFaults, session)
		if diff := cmp.Diff(faults, drawFaults(7, round, 3, ClientFaults|ProcessFaults, session)); diff != "" {
			t.Fatalf("round %d has other faults the second time: %s", round, diff)
		}
		if len(faults) == 0 {
			none++
		}
		for _, f := range faults {
			if f.Round != round || f.Client < 1 || f.Client > 3 || f.Request < 1 {
				t.Fatal(f)
			}
			seen[string(f.Fault)+" "+f.Variant]++
		}
	}
	for _, w := range clientWays {
		if name := string(w.Fault) + " " + w.Variant; seen[name] < 100 {
			t.Errorf("%s comes up %d times in 3000 rounds", name, seen[name])
		}
	}
	if none < 300 || none > 2000 {
		t.Errorf("%d of 3000 rounds have no fault", none)
	}
	if cmp.Equal(drawFaults(7, 1, 3, ClientFaults, session), drawFaults(8, 1, 3, ClientFaults, session)) &&
		cmp.Equal(drawFaults(7, 2, 3, ClientFaults, session), drawFaults(8, 2, 3, ClientFaults, session)) {
		t.Error("two seeds have the same faults")
	}
	for round := range 200 {
		for _, f := range drawFaults(1, round, 2, strike.SetOf(strike.Cancel, strike.Watch), session) {
			if f.Fault != "cancel" && f.Fault != "watch" {
				t.Fatalf("%v is not allowed", f)
			}
		}
	}
}

// Names of faults are those of clients and those of servers; what only the simulator has is refused by name.
func TestParseLiveFaults(t *testing.T) {
	all := ClientFaults | ProcessFaults | ServerFaults
	for list, want := range map[string]strike.Set{
		"none": 0, "all": all, "loss, reap": strike.SetOf(strike.Loss, strike.Reap), "lag": strike.SetOf(strike.Lag),
		"pause,kill,leader": strike.SetOf(strike.Pause, strike.Kill, strike.Leader), "expiry,all": all,
		"all,-wrap,-kill": all &^ strike.SetOf(strike.Kill),
	} {
		if got, err := ParseFaults(list); err != nil || got != want {
			t.Errorf("%s: %v %v", list, got, err)
		}
	}
	for list, want := range map[string]string{"loss,time,wrap": "time,wrap cannot strike", "loss,flood": `"flood"`,
		"": `""`, "all,wrap": "wrap cannot strike", "all,-flood": `"flood"`, "loss,-kill": "-kill leaves out", "-wrap": "-wrap leaves out"} {
		if _, err := ParseFaults(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", list, err)
		}
	}
}

// What is drawn for servers can be, stays within what is allowed, and is the same from the same seed.
func TestBlows(t *testing.T) {
	least := strike.SetOf(strike.Kill)
	for allowed := strike.Set(0); allowed <= ServerFaults; allowed += least {
		a, b := newFaultDraw(uint64(allowed), allowed, 3, time.Second),
			newFaultDraw(uint64(allowed), allowed, 3, time.Second)
		if (a == nil) != (allowed == 0) {
			t.Fatalf("%v: %v", allowed, a)
		}
		over := int64(0)
		for range 50 {
			if a == nil {
				break
			}
			faults := a.next()
			if diff := cmp.Diff(faults, b.next()); diff != "" {
				t.Fatal(diff)
			}
			for _, f := range faults {
				leader := strike.SetOf(strike.Leader)
				at, kind := f.under()&leader, f.under()&^leader
				if err := f.Validate(3); err != nil || kind == 0 || allowed&^leader != 0 && allowed&kind == 0 || at&^allowed != 0 {
					t.Errorf("%v allowed: %v: %v", allowed, f, err)
				}
				if f.AtMS < over || f.AtMS != faults[0].AtMS {
					t.Errorf("%v strikes before %d ms, when the one before is over", f, over)
				}
			}
			for _, f := range faults {
				over = max(over, f.AtMS+f.ForMS)
			}
		}
	}
}
