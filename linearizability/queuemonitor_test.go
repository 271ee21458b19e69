package linearizability

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// find returns the index of the first operation after the middle of a history for which is is true.
func find(t *testing.T, h History, is func(*Operation) bool) int {
	t.Helper()
	for i := len(h) / 2; i < len(h); i++ {
		if is(&h[i]) {
			return i
		}
	}
	t.Fatal("the history has no such operation")
	return 0
}

func removes(op *Operation) bool {
	return (op.Op == "poll" || op.Op == "take") && op.Outcome == OK && !op.Result.IsNull()
}

// TestPlantedViolation hides one violation of every rule in a long history. It is found and named, and
// porcupine confirms the few operations that show it.
func TestPlantedViolation(t *testing.T) {
	for property, plant := range map[string]func(h History) History{
		"order": overtake,
		"lost": func(h History) History {
			i := find(t, h, removes)
			return slices.Delete(h, i, i+1)
		},
		"duplicate": func(h History) History {
			i := find(t, h, removes)
			again := h[i]
			again.Client, again.Call, again.Return = 1000, again.Return+5, again.Return+6
			return append(h, again)
		},
		"phantom": func(h History) History {
			h[find(t, h, removes)].Result = Int(-1)
			return h
		},
		"false-empty": func(h History) History {
			i := find(t, h, removes)
			offer := slices.IndexFunc(h, func(op Operation) bool { return op.Arg == h[i].Result })
			return append(h, Operation{Client: 1000, Op: "poll", Call: h[offer].Return + 1,
				Return: max(h[offer].Return+1, h[i].Call-1)})
		},
		"stale-peek": func(h History) History {
			i := find(t, h, removes)
			return append(h, Operation{Client: 1000, Op: "peek", Result: h[i].Result, Call: h[i].Return + 1,
				Return: h[i].Return + 2})
		},
	} {
		for _, peeks := range []float64{0, 0.1} {
			v := Check(Queue(), plant(busyQueue(7, 20_000, 16, 0, peeks)), Options{})[0]
			if named := v.Property == property || property == "lost" && v.Property == "order"; !named ||
				len(v.Operations) > 6 {
				t.Errorf("planted was %s, found is %v", property, v)
			}
		}
	}
}

// Property: any number of goroutines prepare the same steps, and find the same second offer.
func TestPrepareQueueByMany(t *testing.T) {
	operation := rapid.Custom(func(t *rapid.T) Operation {
		op := Operation{Op: rapid.SampledFrom([]string{"offer", "poll", "peek"}).Draw(t, "op"),
			Outcome: rapid.SampledFrom([]Outcome{OK, Fail, Unknown}).Draw(t, "outcome")}
		value := Int(rapid.Int64Range(0, 5).Draw(t, "value"))
		if op.Op == "offer" {
			op.Arg = value
		} else if rapid.Bool().Draw(t, "told") {
			op.Result = value
		}
		return op
	})
	rapid.Check(t, func(t *rapid.T) {
		h := History(rapid.SliceOfN(operation, 0, 12).Draw(t, "history"))
		items := numberItems(h, queueItem)
		alone := prepareQueueBy(1, h, items)
		wrong, problem := offeredTwice(1, h, items)
		for goroutines := range 5 {
			if many := prepareQueueBy(goroutines+1, h, items); !slices.Equal(many, alone) {
				t.Fatalf("%d goroutines: %+v, want %+v", goroutines+1, many, alone)
			}
			if i, why := offeredTwice(goroutines+1, h, items); i != wrong || why != problem {
				t.Fatalf("%d goroutines accuse operation %d, as %s; want %d, as %s", goroutines+1, i, why, wrong, problem)
			}
		}
	})
}
