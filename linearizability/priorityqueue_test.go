package linearizability

import (
	"testing"
)

func TestPriorityQueueRules(t *testing.T) {
	put := func(client int, v string, call int64) Operation {
		return Operation{Client: client, Op: "offer", Arg: Str(v), Call: call, Return: call + 1}
	}
	get := func(client int, v string, call int64) Operation {
		return Operation{Client: client, Op: "poll", Result: Str(v), Call: call, Return: call + 1}
	}
	for _, test := range []struct {
		property string
		history  History
	}{
		{"", History{put(1, "5:a", 1), put(1, "-1:b", 3), get(2, "-1:b", 5), get(2, "5:a", 7)}},
		{"", History{put(1, "5:a", 1), put(1, "5:b", 3), get(2, "5:a", 5), get(2, "5:b", 7)}},
		{"order", History{put(1, "5:a", 1), put(1, "-1:b", 3), get(2, "5:a", 5), get(2, "-1:b", 7)}},
		{"order", History{put(1, "10:a", 1), put(1, "9:b", 3), get(2, "10:a", 5), get(2, "9:b", 7)}},
		{"order", History{put(1, "5:a", 1), put(1, "5:b", 3), get(2, "5:b", 5), get(2, "5:a", 7)}},
		{"lost", History{put(1, "1:a", 1), put(1, "2:b", 3), get(2, "2:b", 5)}},
		{"phantom", History{put(1, "1:a", 1), get(2, "2:b", 5)}},
		{"duplicate", History{put(1, "1:a", 1), get(2, "1:a", 5), get(2, "1:a", 7)}},
	} {
		v := Check(PriorityQueue(), test.history, Options{})[0]
		if v.Property != test.property || (v.Outcome == Ok) != (test.property == "") {
			t.Errorf("%v\nwant %q", v, test.property)
		}
	}
	if v := Check(PriorityQueue(), History{put(1, "urgent", 1)}, Options{})[0]; v.Outcome != Undetermined {
		t.Errorf("a value without a priority: %v", v)
	}
}
