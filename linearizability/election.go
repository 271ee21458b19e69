package linearizability

// Election returns the model of a leadership that one client has at a time. It is the model of [Lock] with the
// operations of an election.
//
//	elected   waits until the client leads; the result is its token, a number, or null if there
//	          are none
//	resigned  gives the leadership back; the result is the token that it was held under, or null
//
// A resigned with another token than the elected of outcome ok before it is unsound, see [Model.Validate]; otherwise its
// token says nothing.
//
// The end of a leader's session is a resigned of unknown outcome.
func Election() Model {
	m := Lock()
	m.Name = "election"
	m.Operations = operationsOf("election")
	m.problem = electionProblem
	m.conflict = electionConflict
	m.rules = map[string]string{"exclusion": "two clients led at once",
		"release": "a client resigned that did not lead"}
	return m
}

func electionProblem(op *Operation) string {
	switch {
	case !op.Arg.IsNull():
		return "operations of an election have no argument; leave it null"
	case !op.Result.IsInt() && !op.Result.IsNull():
		return "the result is the leader's token, a whole number, or null"
	}
	return ""
}

// electionConflict finds a client that resigned without an election, or under another token.
func electionConflict(h History, processes []int32) (int, string) {
	if i, problem := releaseWithoutAcquire(h, processes); problem != "" {
		return i, "its client had not called elected before; record that too, and under the same client or process"
	}
	last := make(map[Value]Value) // by process: the token of the last election; null if unknown
	for _, i := range byCall(h) {
		op := &h[i]
		switch {
		case op.Outcome == Fail:
		case op.Op == "elected" && op.Outcome == OK:
			last[op.Owner()] = op.Result
		case op.Op == "elected":
			last[op.Owner()] = Null
		case !op.Result.IsNull() && !last[op.Owner()].IsNull() && op.Result != last[op.Owner()]:
			return i, "its client was last elected with the token " + last[op.Owner()].String() +
				"; record the token of the same term, or null"
		}
	}
	return 0, ""
}
