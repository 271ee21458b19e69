package linearizability

import "testing"

func TestStaleReads(t *testing.T) {
	offer := Operation{Client: 1, Op: "offer", Arg: Int(1), Call: 10, Return: 20}
	empty := func(client int, call int64) Operation {
		return Operation{Client: client, Op: "poll", Call: call, Return: call + 5}
	}
	at := func(op Operation, client int, call, ret int64) Operation {
		op.Client, op.Call, op.Return = client, call, ret
		return op
	}
	second := Operation{Op: "offer", Arg: Int(2)}
	lost := at(Operation{Op: "poll", Result: Int(9), Outcome: Unknown}, 2, 25, Forever)
	own := Operation{Client: 1, Op: "peek", Result: Int(1), Call: 22, Return: 23}
	for name, c := range map[string]struct {
		history       History
		strict, stale string
	}{
		"an answer from the past": {History{offer, empty(2, 30)}, "violation false-empty", "ok"},
		"from before what the session has written": {History{offer, empty(1, 30)}, "violation false-empty",
			"violation false-empty"},
		"from before what the session has seen": {History{offer, own, empty(1, 30)}, "violation false-empty",
			"violation false-empty"},
		"a change is not read": {History{offer,
			{Client: 2, Op: "poll", Result: Int(2), Call: 30, Return: 31}}, "violation phantom", "violation phantom"},
		"twice from the past": {History{offer, empty(2, 30), empty(2, 40)},
			"violation false-empty", "ok"},
		"a write that began before the reply": {History{offer, at(second, 2, 15, 18), at(own, 2, 30, 31),
			at(Operation{Op: "peek", Result: Null}, 3, 40, 41)}, "violation false-empty", "ok"},
		"another's write before the own reply": {History{at(Operation{Op: "poll", Result: Int(1)}, 3, 22, 25),
			offer, at(second, 2, 18, 40), at(own, 2, 50, 51)}, "violation stale-peek", "ok"},
		"of a new session after a lost reply": {History{offer, at(second, 2, 21, 22), lost, empty(2, 30)},
			"violation false-empty", "ok"},
		"from before a lost reply": {History{offer, lost, empty(1, 30)}, "violation false-empty",
			"violation false-empty"},
		"of a session that has seen nothing": {History{{Client: 1, Op: "offer", Arg: Int(1), Call: 10,
			Return: 10}, empty(2, 30)}, "violation false-empty", "ok"},
	} {
		if got := summary(Check(Queue(), c.history, Options{})[0]); got != c.strict {
			t.Errorf("%s, strictly: %s, want %s", name, got, c.strict)
		}
		if got := summary(Check(Queue(), StaleReads(c.history), Options{})[0]); got != c.stale {
			t.Errorf("%s, stale reads allowed: %s, want %s", name, got, c.stale)
		}
	}
}
