package linearizability

import "testing"

func TestStaleReads(t *testing.T) {
	offer := Operation{Client: 1, Op: "offer", Arg: Int(1), Call: 10, Return: 20}
	empty := func(client int, call int64) Operation {
		return Operation{Client: client, Op: "poll", Call: call, Return: call + 5}
	}
	own := Operation{Client: 1, Op: "peek", Result: Int(1), Call: 22, Return: 23}
	for name, c := range map[string]struct {
		history       History
		strict, stale string
	}{
		"an answer from the past":                  {History{offer, empty(2, 30)}, "violation false-empty", "ok"},
		"from before what the session has written": {History{offer, empty(1, 30)}, "violation false-empty", "violation false-empty"},
		"from before what the session has seen":    {History{offer, own, empty(1, 30)}, "violation false-empty", "violation false-empty"},
		"a change is not read":                     {History{offer, {Client: 2, Op: "poll", Result: Int(2), Call: 30, Return: 31}}, "violation phantom", "violation phantom"},
		"of a session that has seen nothing":       {History{{Client: 1, Op: "offer", Arg: Int(1), Call: 10, Return: 10}, empty(2, 30)}, "violation false-empty", "ok"},
	} {
		if got := summary(Check(Queue(), c.history, Options{})[0]); got != c.strict {
			t.Errorf("%s, strictly: %s, want %s", name, got, c.strict)
		}
		if got := summary(Check(Queue(), StaleReads(c.history), Options{})[0]); got != c.stale {
			t.Errorf("%s, stale reads allowed: %s, want %s", name, got, c.stale)
		}
	}
}
