package correct

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/zktorture/zktorture/linearizability"
)

// longHistories is how many long histories TestNeverAccusedLong draws in all: as many as ZKTORTURE_AGREE
// says, but 10,000 at most, and few if it is not set.
func longHistories(t *testing.T) int {
	text := os.Getenv("ZKTORTURE_AGREE")
	if text == "" {
		return 270
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("ZKTORTURE_AGREE is %q; write how many histories to compare", text)
	}
	return min(n, 10_000)
}

// undecidedMax is how many of a hundred histories of a model may be undetermined.
var undecidedMax = map[string]int{"queue": 1, "priorityqueue": 1, "lock": 1, "election": 1, "rwlock": 5,
	"semaphore": 5, "counter": 20, "doublebarrier": 20}

// TestNeverAccusedLong judges long histories that are correct by construction, with unknown outcomes, equal
// stamps and reads from servers that lag. None may be accused.
func TestNeverAccusedLong(t *testing.T) {
	each := max(1, longHistories(t)/len(Models))
	for _, model := range Models {
		t.Run(model, func(t *testing.T) {
			seen := map[linearizability.Status]int{}
			for i := range each {
				v := judgeCorrect(t, model, uint64(i))
				if seen[v.Outcome]++; v.Outcome == linearizability.Violation || v.Checker == "disagreement" {
					t.Fatalf("case %d is correct, but accused, perhaps by one checker only: %v", i, v)
				}
			}
			t.Logf("%d ok, %d undetermined", seen[linearizability.Ok], seen[linearizability.Undetermined])
			if most := undecidedMax[model]; 100*seen[linearizability.Undetermined] > most*each {
				t.Errorf("%d of %d histories are undetermined", seen[linearizability.Undetermined], each)
			}
		})
	}
}

func judgeCorrect(t *testing.T, model string, i uint64) linearizability.Verdict {
	c, err := New(model, i)
	if err != nil || len(c.History) < c.Shape.Operations {
		t.Fatalf("case %d: %v", i, err)
	}
	var v linearizability.Verdict
	for range 5 { // on a busy machine 100 ms may be little
		v = linearizability.Check(c.Model, c.History, linearizability.Options{Timeout: 100 * time.Millisecond})[0]
		if v.Outcome != linearizability.Undetermined {
			break
		}
	}
	return v
}

// One history in which a downgrade or what came before it is of unknown outcome used to be one that the search for
// an order never ended on: the monitor gave up, for one release in 30,000 operations.
func TestLongRWLockInDoubt(t *testing.T) {
	for seed := range uint64(2) {
		shape := Shape{Operations: 30_000, Clients: 16, Early: 30, Late: 30, Unknown: 0.1, Tick: 1}
		h := Draw(rand.New(rand.NewPCG(7, seed)), "rwlock", linearizability.Parameters{}, shape)
		if v := linearizability.Check(linearizability.RWLock(), h,
			linearizability.Options{})[0]; v.Outcome != linearizability.Ok {
			t.Error(seed, v, v.Tried)
		}
	}
}
