package linearizability

import (
	"testing"
)

// TestElectionWords compares the verdicts with those on the same history in the words of locks.
func TestElectionWords(t *testing.T) {
	two := History{
		{Client: 1, Op: "elected", Result: Int(3), Call: 1, Return: 2},
		{Client: 2, Op: "elected", Result: Int(4), Call: 3, Return: 4},
	}
	const want = "two clients led at once: client 1 elected → 3 [1..2], client 2 elected → 4 [3..4]"
	if v := Check(Election(), two, 0)[0]; v.Property != "exclusion" || v.Message != want {
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
