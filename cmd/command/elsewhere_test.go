package command

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/judges"
	"github.com/zktorture/zktorture/linearizability"
)

// Each line is an operation: what is called with what, and what that returned, by client 1 or 2, at the times given.
func TestHistoriesOfElsewhere(t *testing.T) {
	ok, unknown := linearizability.OK, linearizability.Unknown
	op := func(client int, name, arg, result string, outcome linearizability.Outcome, call, end int64) linearizability.Operation {
		o := linearizability.Operation{Client: client, Op: name, Outcome: outcome, Call: call, Return: end}
		if arg != "" {
			o.Arg = linearizability.Str(arg)
		}
		if result != "" {
			o.Result = linearizability.Str(result)
		}
		return o
	}
	never, fail := linearizability.Forever, linearizability.Fail
	of := func(process int64, o linearizability.Operation) linearizability.Operation {
		o.Process = linearizability.Int(process)
		return o
	}
	for _, test := range []struct {
		kind, want string
		history    linearizability.History
	}{
		{"lockingqueue", "ok", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(1, "claim", "", "a", ok, 3, 4),
			op(1, "finish", "give back a", "", unknown, 5, never), op(2, "claim", "", "a", ok, 6, 7)}},
		{"lockingqueue", "exclusion", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(1, "claim", "", "a", ok, 3, 4),
			op(2, "claim", "", "a", ok, 5, 6)}},
		{"lockingqueue", "false-empty", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(1, "claim", "", "a", ok, 3, 4),
			op(1, "finish", "give back a", "", ok, 5, 8), op(2, "try", "", "", ok, 9, 10)}},
		{"lockingqueue", "ok", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(1, "claim", "", "", unknown, 3, 8),
			op(2, "try", "", "", ok, 8, 10)}},
		{"lockingqueue", "false-empty", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(1, "claim", "", "", unknown, 3, 8),
			op(2, "try", "", "", ok, 9, 10)}},
		{"lockingqueue", "offered twice", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(1, "offer", "a", "", ok, 3, 4)}},
		{"lockingqueue", "argument is", linearizability.History{op(1, "finish", "drop a", "", ok, 1, 2)}},
		{"membership", "missing", linearizability.History{op(1, "join", "a", "", ok, 1, 2), op(2, "members", "", "", ok, 3, 4)}},
		{"membership", "ok", linearizability.History{op(1, "join", "a", "", ok, 1, 2), op(1, "leave", "a", "", unknown, 3, never),
			op(2, "members", "", "", ok, 4, 5), op(2, "members", "", "a", ok, 6, 7)}},
		{"membership", "ghost", linearizability.History{op(1, "join", "a", "", ok, 1, 2), op(1, "leave", "a", "", ok, 3, 4),
			op(2, "members", "", "a", ok, 5, 6)}},
		{"membership", "unchanged", linearizability.History{op(1, "join", "a", "", ok, 1, 2), op(2, "changed", "a", "a", ok, 3, 4)}},
		{"membership", "operations of a membership are", linearizability.History{op(1, "poll", "", "", ok, 1, 2)}},
		{"membership", "returns, and after", linearizability.History{op(1, "join", "a", "", ok, 2, 1)}},
		{"membership", "number of words", linearizability.History{op(1, "join", "a b", "", ok, 1, 2)}},
		{"registry", "missing", linearizability.History{op(1, "register", "a", "", ok, 1, 2), op(2, "list", "", "", ok, 3, 4)}},
		{"registry", "ok", linearizability.History{op(1, "register", "a", "", ok, 1, 2),
			op(1, "deregister", "a", "", unknown, 2, never), op(2, "list", "", "", ok, 3, 4)}},
		// What returns when another is called may come after it.
		{"lockingqueue", "ok", linearizability.History{op(1, "offer", "a", "", ok, 1, 5), op(2, "try", "", "", ok, 5, 6), op(1, "claim", "", "a", ok, 6, 7)}},
		{"membership", "ok", linearizability.History{op(1, "join", "a", "", ok, 1, 5), op(2, "members", "", "", ok, 5, 7), op(1, "leave", "a", "", ok, 8, 9)}},
		{"membership", "ok", linearizability.History{op(1, "join", "a", "", ok, 1, 5), op(2, "members", "", "", ok, 6, 7), op(1, "leave", "a", "", ok, 7, 9)}},
		{"registry", "ok", linearizability.History{op(1, "register", "a", "", ok, 5, 7), op(2, "list", "", "a", ok, 1, 5)}},
		// It is got again at the stamp at which it is given back.
		{"lockingqueue", "ok", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(1, "claim", "", "a", ok, 3, 5),
			op(1, "finish", "give back a", "", ok, 5, 5), op(1, "claim", "", "a", ok, 5, 6), op(1, "finish", "give back a", "", ok, 6, 7), op(2, "claim", "", "a", ok, 8, 9)}},
		{"lockingqueue", "ok", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(1, "claim", "", "a", ok, 3, 3), op(1, "finish", "give back a", "", ok, 3, 4),
			op(2, "claim", "", "a", ok, 8, 9)}},
		{"membership", "ok", linearizability.History{op(1, "join", "a", "", ok, 1, 5), op(1, "leave", "a", "", ok, 5, 5), op(1, "join", "a", "", ok, 5, 6), op(1, "leave", "a", "", ok, 7, 7),
			op(2, "members", "", "", ok, 8, 9)}},
		// A client holds several things, and goes on under another number.
		{"lockingqueue", "ok", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(1, "offer", "b", "", ok, 3, 4),
			op(1, "claim", "", "a", ok, 5, 6), op(1, "claim", "", "b", ok, 7, 8), op(1, "finish", "give back a", "", ok, 9, 10),
			op(2, "claim", "", "a", ok, 11, 12)}},
		{"lockingqueue", "ok", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(1, "claim", "", "a", ok, 3, 4),
			op(1, "offer", "b", "", unknown, 5, never), of(1, op(101, "finish", "give back a", "", ok, 6, 7)), op(2, "claim", "", "a", ok, 8, 9)}},
		{"lockingqueue", "exclusion-in-session", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(1, "claim", "", "a", ok, 3, 4),
			op(1, "claim", "", "a", ok, 5, 6)}},
		{"membership", "ok", linearizability.History{op(1, "join", "a", "", ok, 1, 2), op(1, "join", "b", "", ok, 3, 4),
			op(1, "leave", "a", "", ok, 5, 6), op(2, "members", "", "b", ok, 7, 8)}},
		{"registry", "ok", linearizability.History{op(1, "register", "a", "", ok, 1, 2), op(1, "register", "b", "", ok, 3, 4), op(2, "list", "", "a b", ok, 5, 6)}},
		// What failed had no effect.
		{"lockingqueue", "ok", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(2, "claim", "", "a", ok, 2, 2), op(1, "offer", "a", "", fail, 3, 4)}},
		{"lockingqueue", "phantom", linearizability.History{op(1, "offer", "a", "", fail, 1, 2), op(2, "claim", "", "a", ok, 3, 4)}},
		// What ends at any time from its call on ends what was got at that stamp.
		{"membership", "ok", linearizability.History{op(1, "join", "a", "", unknown, 1, never), op(1, "join", "a", "", ok, 2, 4),
			op(1, "leave", "a", "", ok, 2, 9), op(2, "members", "", "", ok, 5, 6)}},
		// What failed to get something may have had it for a while.
		{"lockingqueue", "ok", linearizability.History{op(1, "offer", "a", "", ok, 1, 2), op(2, "claim", "", "", fail, 3, 4), op(2, "try", "", "", ok, 5, 6)}},
		{"membership", "ok", linearizability.History{op(1, "join", "a", "", fail, 1, 2), op(2, "members", "", "a", ok, 3, 4), op(1, "leave", "a", "", ok, 5, 6)}},
		// A group has no order.
		{"membership", "unchanged", linearizability.History{op(1, "join", "a", "", ok, 1, 2), op(2, "join", "b", "", ok, 1, 2), op(3, "changed", "b a", "a b", ok, 3, 4)}},
	} {
		if v := judges.Check(test.kind, test.history, time.Minute)[0]; !strings.Contains(v.Outcome.String()+v.Property+v.Reason, test.want) {
			t.Errorf("%v: %v, want %s", test.history, v, test.want)
		}
	}
}

// A judge that is late has not passed anything.
func TestLateJudge(t *testing.T) {
	var h linearizability.History
	for i := range int64(2000) {
		name := linearizability.Str(strconv.FormatInt(i, 10))
		h = append(h, linearizability.Operation{Op: "join", Arg: name, Call: 4 * i, Return: 4*i + 1},
			linearizability.Operation{Op: "members", Result: name, Call: 4*i + 2, Return: 4*i + 3})
	}
	if v := judges.Check("membership", h, 1)[0]; v.Outcome != linearizability.Undetermined || !strings.Contains(v.Reason, "within 1ns") {
		t.Error(v)
	}
}
