package linearizability

import "testing"

// TestNobodyEntersBeforeItsOwnCall: an enter succeeds after its own call, not on the presence that an
// earlier enter of its process has left behind. Else its process would be inside without anybody
// having to wait for it.
func TestNobodyEntersBeforeItsOwnCall(t *testing.T) {
	h := parseHistory(t, "client 0 enter (unknown) [1..]\nclient 1 enter [2..10]\nclient 100 enter "+
		"[5..11]\nclient 1 leave [20..30]")
	h[2].Process = Int(0)
	m := DoubleBarrier(2)
	if v := Check(m, h, 0)[0]; summary(v) != "violation early-leave" {
		t.Errorf("process 0 never left: %v", v)
	}
	again := append(h[:3:3], parseHistory(t, "client 100 leave (unknown) [15..]")...)
	again[3].Process = Int(0)
	if v := Check(m, append(again, h[3]), 0)[0]; v.Outcome != Ok {
		t.Errorf("process 0 has perhaps left: %v", v)
	}
}
