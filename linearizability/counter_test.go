package linearizability

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plainCounter is the number.
type plainCounter int64

func (c plainCounter) apply(h History, i int) (bool, object) {
	op := h[i]
	if op.Op == "get" {
		return op.Outcome == Unknown || op.Result == Null || op.Result == Int(int64(c)), c
	}
	sum := int64(c) + op.Arg.Int()
	return op.Result == Null || op.Result == Int(sum), plainCounter(sum)
}

// drawCounting draws histories of a real counter in which some replies are lost, and then changes
// up to two things.
func drawCounting(t *rapid.T, sizeMax, mutations int) History {
	number, busy := int64(0), make(map[int]int64)
	deltas := rapid.SampledFrom([][]int64{{1}, {1, 2}, {1, -1, 3, 0}}).Draw(t, "deltas")
	var h History
	for i := range rapid.IntRange(0, sizeMax).Draw(t, "size") {
		instant, client := 4*int64(i), rapid.IntRange(0, 3).Draw(t, "client")
		if busy[client] > instant {
			continue
		}
		op := Operation{Client: client, Op: rapid.SampledFrom([]string{"add", "add", "get"}).Draw(t, "op")}
		if op.Op == "add" {
			delta := rapid.SampledFrom(deltas).Draw(t, "delta")
			number += delta
			op.Arg = Int(delta)
		}
		op.Result = Int(number)
		op.Call = max(busy[client], instant-rapid.Int64Range(0, 12).Draw(t, "early"))
		op.Return = instant + rapid.Int64Range(0, 12).Draw(t, "late")
		busy[client] = op.Return
		h = append(h, op)
	}
	for i := range h {
		blur(t, &h[i])
	}
	for range mutations {
		h = mutate(t, h)
	}
	sortByCall(h)
	return h
}

func checkCounting(t *rapid.T, h History, seen map[string]int) {
	m := Counter()
	if Validate(m, h) != nil {
		t.Skip("not a sound history")
	}
	v := Check(m, h, Options{})[0]
	if legal := linearizableByReference(plainCounter(0), h); legal != (v.Outcome == Ok) || v.Outcome == Undetermined {
		t.Fatalf("reference: legal is %v; Check: %v\n%s", legal, v, lines(h))
	}
	if v.Outcome == Violation && linearizableByReference(plainCounter(0), v.Operations) {
		t.Fatalf("these operations are legal by themselves, but named as a violation: %v", v)
	}
	seen[v.Outcome.String()+" "+v.Property]++
}

func TestCounterAgreesWithReference(t *testing.T) {
	seen := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		checkCounting(t, drawCounting(t, 7, rapid.IntRange(0, 2).Draw(t, "mutations")), seen)
	})
	t.Log(seen)
}

func TestLegalCountingIsNeverAccused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawCounting(t, 30, 0)
		if v := Check(Counter(), h, Options{})[0]; v.Outcome != Ok {
			t.Fatalf("a legal history was accused: %v\n%s", v, lines(h))
		}
	})
}

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
		if err := Validate(Counter(), h); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestElectionIsALock compares the verdicts with those on the same history in the words of locks.
func TestElectionIsALock(t *testing.T) {
	seen := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		h := slices.DeleteFunc(drawWild(t, Lock()), func(op Operation) bool { return op.Op == "try" })
		if Validate(Lock(), h) != nil {
			t.Skip("not a sound history")
		}
		v := Check(Election(), asElection(h), Options{})[0]
		if legal := linearizableByReference(plainLock{grant: -1}, h); legal != (v.Outcome == Ok) {
			t.Fatalf("reference: legal is %v; Check: %v\n%s", legal, v, lines(h))
		}
		seen[v.Outcome.String()+" "+v.Property]++
	})
	t.Log(seen)
}

func asElection(h History) History {
	h = slices.Clone(h)
	for i := range h {
		h[i].Op = map[string]string{"acquire": "elected", "release": "resigned"}[h[i].Op]
	}
	return h
}

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
	if err := Validate(Election(), other); err == nil || err.Error() != problem {
		t.Errorf("error %v, want %s", err, problem)
	}
}
