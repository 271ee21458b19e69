package fakezk

// OpError is the type of a result of a multi that is an error.
const OpError Op = -1

// multi carries out all operations or none. The header's error is 0 either way; if one fails, those before it answer
// 0, it answers its code, and those after it RuntimeInconsistency (FinalRequestProcessor, case multi). Only a multi
// that the server cannot parse has an error of its own.
func (e *Ensemble) multi(now int64, c *connection, r *Request, reply *Response) {
	results := make([]Result, len(r.Ops))
	failed, code := e.prepareMulti(c, r.Ops, results)
	clear(e.pending)
	t := transaction{time: now, session: c.session.id}
	switch {
	case code == CodeMarshalling:
		reply.Err, results = code, nil
		e.commit(t, nil)
	case code != CodeOK:
		fail(results, failed, code)
		e.commit(t, nil)
	default:
		t.edits = e.edits
		e.commit(t, results)
	}
	reply.Results = results
}

func fail(results []Result, failed int, code Code) {
	for i := range results {
		results[i] = Result{Op: OpError}
		if i > failed {
			results[i].Err = CodeRuntimeInconsistency
		}
	}
	results[failed].Err = code
}

// prepareMulti checks each operation against the outcome of the ones before it. It leaves an edit for each in
// e.edits, and returns which failed, and how.
func (e *Ensemble) prepareMulti(c *connection, ops []Request, results []Result) (int, Code) {
	e.edits = e.edits[:0]
	for i := range ops {
		if !multiOperation(ops[i].Op) {
			return i, CodeMarshalling
		}
	}
	for i := range ops {
		op, ok := derived(&ops[i])
		if !ok {
			return i, CodeMarshalling
		}
		x, code := e.prepare(c, &ops[i], op)
		if code != CodeOK {
			return i, code
		}
		e.edits = append(e.edits, x)
		e.foresee(&e.edits[i])
		e.edits[i].acl = rewritten(x.acl)
		results[i] = multiResult(op, x.path)
	}
	return 0, CodeOK
}

func multiOperation(op Op) bool {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpCheck:
		return true
	}
	return false
}

// derived is the operation that the server makes of one in a multi: it derives the kind of a creation from the flags
// (MultiOperationRecord.deserialize, Op.create). False: TTL flags outside createTTL end in a ClassCastException.
func derived(r *Request) (Op, bool) {
	switch r.Op {
	case OpDelete, OpSetData, OpCheck:
		return r.Op, true
	}
	switch r.Flags {
	case 4:
		return OpCreateContainer, true
	case flagTTL, flagTTLSeq:
		return OpCreateTTL, r.Op == OpCreateTTL
	}
	return OpCreate, true
}

// multiResult is the success of an operation without its Stat. Containers and TTL nodes are answered as create2, with
// a Stat; create2 as create, without.
func multiResult(op Op, path string) Result {
	switch op {
	case OpCreate:
		return Result{Op: OpCreate, Path: path}
	case OpCreateContainer, OpCreateTTL:
		return Result{Op: OpCreate2, Path: path}
	}
	return Result{Op: op}
}

// answerMax bounds what a multiRead is answered with, in bytes: four times what Java's client takes of a server at
// most. With a request of some kilobytes a client could ask for gigabytes. Then the server hangs up.
const answerMax = 16 << 20

// multiRead answers each read on its own, from one moment. It leaves no watches. Writes are found out at the first one,
// when the error's reply has a list already; reads and writes together before that.
func (e *Ensemble) multiRead(c *connection, r *Request, reply *Response) {
	if reads := count(r.Ops, multiReading); reads < len(r.Ops) {
		reply.Err = CodeMarshalling
		if count(r.Ops, multiOperation) == len(r.Ops) {
			reply.Results = []Result{}
		}
		return
	}
	results, length := make([]Result, len(r.Ops)), 0
	for i := range r.Ops {
		var one Response
		unwatched := Request{Op: r.Ops[i].Op, Path: r.Ops[i].Path}
		e.read(c, &unwatched, &one)
		results[i] = Result{Op: r.Ops[i].Op, Err: one.Err, Data: one.Data, Stat: one.Stat, Children: one.Children}
		if one.Err != CodeOK {
			results[i].Op = OpError
		}
		if length += results[i].length(); length > answerMax {
			e.hangUp(c)
			return
		}
	}
	reply.Results = results
}

func multiReading(op Op) bool { return op == OpGetData || op == OpGetChildren }

func count(ops []Request, is func(Op) bool) (n int) {
	for i := range ops {
		if is(ops[i].Op) {
			n++
		}
	}
	return n
}
