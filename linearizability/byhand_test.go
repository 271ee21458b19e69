package linearizability_test

import (
	"cmp"
	"testing"

	lin "github.com/zktorture/zktorture/linearizability"
)

// op is an operation of a client, from call to return, with a result.
func op(client int, name string, call, ret int64, result lin.Value) lin.Operation {
	return lin.Operation{Client: client, Op: name, Call: call, Return: ret, Result: result}
}

func offer(client int, value string, call, ret int64) lin.Operation {
	return lin.Operation{Client: client, Op: "offer", Arg: lin.Str(value), Call: call, Return: ret}
}

func lost(o lin.Operation) lin.Operation {
	o.Outcome, o.Return = lin.Unknown, lin.Forever
	return o
}

// TestByHand compares the reference and the judge with the documentation of the models.
func TestByHand(t *testing.T) {
	a, b := lin.Str("1:a"), lin.Str("0:b")
	two := offer(1, "1:a", 0, 1)
	for name, c := range map[string]struct {
		model string
		h     lin.History
		want  Answer
	}{
		"in order": {"queue", lin.History{two, offer(1, "0:b", 2, 3), op(2, "poll", 4, 5, a),
			op(2, "peek", 6, 7, b)}, Legal},
		"overtaken":       {"queue", lin.History{two, offer(1, "0:b", 2, 3), op(2, "poll", 4, 5, b)}, Illegal},
		"offered at once": {"queue", lin.History{two, offer(2, "0:b", 1, 3), op(2, "poll", 4, 5, b)}, Legal},
		"empty too early": {"queue", lin.History{two, op(2, "poll", 4, 5, lin.Null)}, Illegal},
		"taken by a lost poll": {"queue", lin.History{two, lost(op(3, "poll", 2, 3, lin.Null)),
			op(2, "poll", 4, 5, lin.Null)}, Legal},
		"taken for another": {"queue", lin.History{two, lost(op(3, "poll", 2, 3, b)),
			op(2, "poll", 4, 5, lin.Null)}, Illegal},
		"the best first": {"priorityqueue", lin.History{two, offer(1, "0:b", 2, 3), op(2, "poll", 4, 5, b)},
			Legal},
		"the oldest first": {"priorityqueue", lin.History{two, offer(1, "0:b", 2, 3), op(2, "poll", 4, 5, a)},
			Illegal},
		"a sum": {"counter", lin.History{{Op: "add", Arg: lin.Int(2), Result: lin.Int(2),
			Return: 1}, op(2, "get", 2, 3, lin.Int(2))}, Legal},
		"a stale get": {"counter", lin.History{{Op: "add", Arg: lin.Int(2), Result: lin.Int(2),
			Return: 1}, op(2, "get", 2, 3, lin.Int(0))}, Illegal},
		"through an open gate": {"barrier", lin.History{op(1, "shut", 0, 1, lin.Null), op(2, "wait", 1, 5, lin.Null)},
			Legal},
		"through a shut gate": {"barrier", lin.History{op(1, "shut", 0, 1, lin.Null), op(2, "wait", 2, 5, lin.Null)},
			Illegal},
		"together": {"doublebarrier", lin.History{op(1, "enter", 0, 5, lin.Null),
			op(2, "enter", 2, 4, lin.Null)}, Legal},
		"alone": {"doublebarrier", lin.History{op(1, "enter", 0, 1, lin.Null),
			op(2, "enter", 2, 4, lin.Null)}, Illegal},
		"left while others stay": {"doublebarrier", lin.History{op(1, "enter", 0, 5, lin.Null),
			op(2, "enter", 2, 4, lin.Null), op(1, "leave", 6, 7, lin.Null)}, Illegal},
		"let in by a lost enter": {"doublebarrier", lin.History{lost(op(1, "enter", 4, 5, lin.Null)),
			op(2, "enter", 1, 7, lin.Null)}, Legal},
		"left while who was let in stays": {"doublebarrier", lin.History{lost(op(1, "enter", 4, 5, lin.Null)),
			op(2, "enter", 1, 7, lin.Null), op(1, "leave", 6, 9, lin.Null)}, Illegal},
		"left while who was let in at once stays": {"doublebarrier", lin.History{lost(op(1, "enter", 4, 5, lin.Null)),
			op(2, "enter", 1, 5, lin.Null), op(1, "leave", 6, 9, lin.Null)}, Illegal},
		"left after a lost leave": {"doublebarrier", lin.History{lost(op(1, "enter", 4, 5, lin.Null)),
			op(2, "enter", 1, 7, lin.Null), op(1, "leave", 6, 9, lin.Null), lost(op(2, "leave", 8, 9, lin.Null))}, Legal},
		"entered again without a leave": {"doublebarrier", lin.History{op(1, "enter", 0, 5, lin.Null),
			op(2, "enter", 2, 4, lin.Null), lost(op(1, "enter", 6, 9, lin.Null)), op(2, "leave", 8, 9, lin.Null)}, Legal},
		"left as others die": {"doublebarrier", lin.History{op(1, "enter", 0, 5, lin.Null),
			op(2, "enter", 2, 4, lin.Null), op(1, "leave", 6, 9, lin.Null), lost(op(2, "leave", 8, 9, lin.Null))},
			Legal},
		"one after another": {"lock", lin.History{op(1, "acquire", 0, 1, lin.Int(1)),
			op(1, "release", 2, 4, lin.Null), op(2, "acquire", 3, 5, lin.Int(2))}, Legal},
		"two at once": {"lock", lin.History{op(1, "acquire", 0, 1, lin.Int(1)),
			op(1, "release", 4, 5, lin.Null), op(2, "acquire", 2, 3, lin.Int(2))}, Illegal},
		"a token too small": {"election", lin.History{op(1, "elected", 0, 1, lin.Int(2)),
			op(1, "resigned", 2, 4, lin.Null), op(2, "elected", 5, 6, lin.Int(2))}, Illegal},
		"released twice": {"lock", lin.History{op(1, "acquire", 0, 1, lin.Int(1)),
			op(1, "release", 2, 4, lin.Null), op(1, "release", 5, 6, lin.Null)}, Illegal},
		"released again": {"lock", lin.History{op(1, "acquire", 0, 1, lin.Int(1)),
			lost(op(1, "release", 2, 4, lin.Null)), op(1, "release", 5, 6, lin.Null)}, Legal},
		"a lost grant": {"lock", lin.History{lost(op(1, "acquire", 0, 1, lin.Null)),
			op(1, "release", 2, 4, lin.Null), op(2, "acquire", 1, 3, lin.Null)}, Legal},
		"readers": {"rwlock", lin.History{op(1, "racquire", 0, 1, lin.Int(1)),
			op(2, "racquire", 2, 3, lin.Int(1))}, Legal},
		"a reader and a writer": {"rwlock", lin.History{op(1, "racquire", 0, 1, lin.Int(1)),
			op(2, "acquire", 2, 3, lin.Int(2))}, Illegal},
		"both permits": {"semaphore", lin.History{op(1, "acquire", 0, 1, lin.Null),
			op(2, "acquire", 0, 1, lin.Null)}, Legal},
		"more than both": {"semaphore", lin.History{op(1, "acquire", 0, 1, lin.Null),
			op(2, "acquire", 0, 1, lin.Null), op(3, "try", 2, 3, lin.Bool(true))}, Illegal},
		"a refusal": {"semaphore", lin.History{op(3, "try", 2, 3, lin.Bool(false))}, Legal},
		"what failed never was": {"lock", lin.History{op(1, "acquire", 0, 1, lin.Null),
			{Client: 2, Op: "acquire", Outcome: lin.Fail, Call: 2, Return: 3}}, Legal},
		"a wait that nobody saw": {"barrier", lin.History{op(1, "shut", 0, 1, lin.Null),
			lost(op(2, "wait", 2, 5, lin.Null))}, Legal},
		"a lost sum that is told": {"counter", lin.History{lost(lin.Operation{Op: "add", Arg: lin.Int(2),
			Result: lin.Int(5)}), op(2, "get", 2, 3, lin.Int(2))}, Illegal},
	} {
		m, err := lin.ByName(c.model, parameters)
		if err == nil {
			err = m.Validate(c.h)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if judged := lin.Check(m, c.h, 0)[0].Outcome; err == nil && (judged == lin.Ok) != (c.want == Legal) {
			t.Errorf("%s: the judge says %v", name, judged)
		}
		if got, err := judgeByReference(c.model, parameters, c.h); got != c.want || err != nil {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}

var parameters = lin.Parameters{Parties: 2, Permits: 2}

func TestUnknownModel(t *testing.T) {
	if a, err := judgeByReference("stack", parameters, nil); err == nil || a != Undecided {
		t.Errorf("%v, %v", a, err)
	}
}

// A history that is too large to try in full is undecided.
func TestTooLong(t *testing.T) {
	var h lin.History
	for i := range int64(eventsMax + 1) {
		h = append(h, op(1, "wait", i, i, lin.Null))
	}
	for _, model := range models[3:] {
		for i := range h {
			h[i].Op = map[string]string{"barrier": "wait", "doublebarrier": "leave", "election": "elected"}[model]
			h[i].Op = cmp.Or(h[i].Op, "acquire")
		}
		if a, err := judgeByReference(model, parameters, h); err != nil || a != Undecided {
			t.Errorf("%s: %v, %v", model, a, err)
		}
	}
	var many lin.History
	for i := range int64(40) {
		many = append(many, lin.Operation{Client: int(i), Op: "add", Arg: lin.Int(1 << i), Return: 1})
	}
	many = append(many, op(50, "get", 2, 3, lin.Int(-1)))
	if a, err := judgeByReference("counter", parameters, many); err != nil || a != Undecided {
		t.Errorf("too many orders: %v, %v", a, err)
	}
}
