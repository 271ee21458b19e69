package linearizability

import (
	"testing"
	"time"
)

// crowded is one more client than a semaphore has permits, all holding one at once.
func crowded(permits int) (h History) {
	for client := range permits + 1 {
		h = append(h, Operation{Client: client, Op: "acquire", Call: 0, Return: 10})
	}
	for client := range permits + 1 {
		h = append(h, Operation{Client: client, Op: "release", Call: 20, Return: 30})
	}
	return h
}

// overtakers is 2n offers of which each overlaps the next, n-1 polls of unknown outcome, and polls that see
// the last n values: one of the first n was passed over.
func overtakers(n int) (h History) {
	for i := range 2 * n {
		at := int64(10 * i)
		h = append(h, Operation{Client: i, Op: "offer", Arg: Int(int64(i)), Call: at, Return: at + 12})
	}
	after := int64(20*n + 20)
	for i := range n - 1 {
		h = append(h, Operation{Client: 2*n + i, Op: "poll", Outcome: Unknown, Call: after, Return: Forever})
	}
	for i := range n {
		at := after + 10*int64(i)
		h = append(h, Operation{Client: 4 * n, Op: "poll", Result: Int(int64(n + i)), Call: at, Return: at + 1})
	}
	return h
}

// twiceTold is additions of −1 of unknown outcome, and two that were told the same sum, −2, at once.
func twiceTold(lost int) (h History) {
	for i := range lost {
		h = append(h, Operation{Client: i, Op: "add", Arg: Int(-1), Outcome: Unknown, Call: 1, Return: Forever})
	}
	for i := range 2 {
		h = append(h, Operation{Client: lost + i, Op: "add", Arg: Int(-1), Result: Int(-2), Call: 2, Return: 9})
	}
	return h
}

// TestProvedIsViolation: what a monitor or a search has proved is a violation, however long it would take
// to confirm or to explain it.
func TestProvedIsViolation(t *testing.T) {
	for name, c := range map[string]struct {
		model Model
		h     History
		want  string
	}{
		"semaphore of 25":   {Semaphore(25), crowded(25), "exclusion"},
		"semaphore of 1000": {Semaphore(1000), crowded(1000), "exclusion"},
		"queue, 8":          {Queue(), overtakers(8), "lost"},
		"queue, 200":        {Queue(), overtakers(200), "lost"},
		"counter":           {Counter(), twiceTold(12), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			v := Check(c.model, c.h, Options{Timeout: 4 * time.Second})[0]
			if v.Outcome != Violation || c.want != "" && v.Property != c.want {
				t.Errorf("%.300s", v.String())
			}
			t.Logf("%v by %s: %.200s %q", time.Since(begin), v.Checker, v.Message, v.Tried)
		})
	}
}
