package fakezk

import (
	"slices"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// multi carries out all operations or none. The header's error is 0 either way; if one fails, those before it answer
// 0, it answers its code, and those after it RuntimeInconsistency (FinalRequestProcessor, case multi). Only a multi
// that the server cannot parse has an error of its own.
func (e *Ensemble) multi(now int64, c *connection, r *Request, reply *Response) {
	results := make([]Result, len(r.Ops))
	edits, code := e.proposer.prepareMulti(c, r.Ops, results, e.edits[:0])
	e.edits = edits
	t := transaction{time: now, session: c.session.id}
	switch {
	case code == wire.CodeMarshalling:
		reply.Err, results = code, nil
		e.commit(t, nil)
	case code != wire.CodeOK:
		fail(results, len(edits), code)
		e.commit(t, nil)
	default:
		t.edits = edits
		e.commit(t, results)
	}
	reply.Results = results
}

func fail(results []Result, failed int, code wire.Code) {
	for i := range results {
		results[i] = Result{Op: wire.OpError}
		if i > failed {
			results[i].Err = wire.CodeRuntimeInconsistency
		}
	}
	results[failed].Err = code
}

// prepareMulti checks each operation against the outcome of the ones before it, and appends an edit for each, up to the
// first that fails.
func (p *proposer) prepareMulti(c *connection, ops []Request, results []Result, edits []edit) ([]edit, wire.Code) {
	defer clear(p.pending)
	if slices.ContainsFunc(ops, func(r Request) bool { return !multiOperation(r.Op) }) {
		return edits, wire.CodeMarshalling
	}
	for i := range ops {
		op, ok := derived(&ops[i])
		if !ok {
			return edits, wire.CodeMarshalling
		}
		x, code := p.prepare(c, &ops[i], op)
		if code != wire.CodeOK {
			return edits, code
		}
		p.foresee(&x)
		results[i] = multiResult(op, x.path)
		edits = append(edits, x)
	}
	return edits, wire.CodeOK
}

func multiOperation(op wire.Op) bool {
	switch op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL, wire.OpDelete,
		wire.OpSetData, wire.OpCheck:
		return true
	}
	return false
}

// derived is the operation that the server makes of one in a multi: it derives the kind of a creation from the flags
// (MultiOperationRecord.deserialize, Op.create). False: TTL flags outside createTTL end in a ClassCastException.
func derived(r *Request) (wire.Op, bool) {
	switch r.Op {
	case wire.OpDelete, wire.OpSetData, wire.OpCheck:
		return r.Op, true
	}
	switch r.Flags {
	case 4:
		return wire.OpCreateContainer, true
	case flagTTL, flagTTLSeq:
		return wire.OpCreateTTL, r.Op == wire.OpCreateTTL
	}
	return wire.OpCreate, true
}

// multiResult is the success of an operation without its Stat. Containers and TTL nodes are answered as create2, with
// a Stat; create2 as create, without.
func multiResult(op wire.Op, path string) Result {
	switch op {
	case wire.OpCreate:
		return Result{Op: wire.OpCreate, Path: path}
	case wire.OpCreateContainer, wire.OpCreateTTL:
		return Result{Op: wire.OpCreate2, Path: path}
	}
	return Result{Op: op}
}
