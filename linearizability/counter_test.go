package linearizability

import (
	"testing"
)

func counting(ops ...Operation) History {
	for i := range ops {
		ops[i].Client = i
		if ops[i].Return == 0 {
			ops[i].Call, ops[i].Return = int64(10*i), int64(10*i+5)
		}
	}
	return ops
}

func add(delta, sum int64) Operation { return Operation{Op: "add", Arg: Int(delta), Result: Int(sum)} }
func get(number int64) Operation     { return Operation{Op: "get", Result: Int(number)} }

func lostAdd(delta int64) Operation {
	return Operation{Op: "add", Arg: Int(delta), Outcome: Unknown, Call: 1, Return: Forever}
}

func TestCounterRules(t *testing.T) {
	for _, c := range []struct {
		history History
		want    string
	}{
		{counting(add(1, 1), add(2, 3), get(3)), "ok"},
		{counting(add(1, 1), get(1), lostAdd(5), add(1, 7)), "ok"},
		{counting(add(1, 1), get(1), lostAdd(5), add(1, 2)), "ok"},
		{counting(add(1, 1), add(1, 3)), "counted-twice"},
		{counting(add(1, 1), lostAdd(5), add(1, 12)), "counted-twice"},
		{counting(add(1, 1), add(1, 1)), "lost-update"},
		{counting(add(1, 1), add(1, 2), get(1)), "stale-get"},
		{counting(add(1, 1), add(1, 10)), "sum"},
	} {
		v := Check(Counter(), c.history, Options{})[0]
		got := v.Property
		if v.Outcome != Violation {
			got = v.Outcome.String()
		}
		if got != c.want {
			t.Errorf("%v, want %s:\n%s", v, c.want, lines(c.history))
		}
	}
}

func TestCounterAssumptions(t *testing.T) {
	for want, h := range map[string]History{
		"operation 1, client 0 get 1 → 1 [0..5]: a get has no argument; leave it null": {{Op: "get",
			Arg: Int(1), Result: Int(1), Return: 5}},
		"operation 1, client 0 add [0..5]: an add's argument is what it adds, a whole number": {{Op: "add",
			Return: 5}},
		"operation 1, client 0 get → x [0..5]: the result is a whole number, or null if it is not known": {{Op: "get",
			Result: Str("x"), Return: 5}},
	} {
		if err := Counter().Validate(h); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestElectionIsALock compares the verdicts with those on the same history in the words of locks.
func TestElectionWords(t *testing.T) {
	two := History{
		{Client: 1, Op: "elected", Result: Int(3), Call: 1, Return: 2},
		{Client: 2, Op: "elected", Result: Int(4), Call: 3, Return: 4},
	}
	const want = "two clients led at once: client 1 elected → 3 [1..2], client 2 elected → 4 [3..4]"
	if v := Check(Election(), two, Options{})[0]; v.Property != "exclusion" || v.Message != want {
		t.Errorf("%v, want %s", v, want)
	}
	other := History{
		{Client: 1, Op: "elected", Result: Int(3), Call: 1, Return: 2},
		{Client: 1, Op: "resigned", Result: Int(4), Call: 3, Return: 4},
	}
	const problem = "operation 2, client 1 resigned → 4 [3..4]: its client was last elected with the token 3; " +
		"record the token of the same term, or null"
	if err := Election().Validate(other); err == nil || err.Error() != problem {
		t.Errorf("error %v, want %s", err, problem)
	}
}
