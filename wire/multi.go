package wire

// MultiRequest is of multi and multiRead: operations that are carried out together or not at all.
type MultiRequest struct{ Ops []MultiOp }

// MultiReply is the answer: one part for each operation, in order.
type MultiReply struct{ Ops []MultiOp }

// MultiOp is one operation of a multi, or what came of it.
type MultiOp struct {
	Op     Op
	Err    int32  // in a reply; -1 in a request
	Record Record // nil if there is nothing to say, as of a delete
}

// MultiMax is the most operations in a multi that is read.
const MultiMax = 1 << 16

func (r *MultiRequest) fields(c *codec) { c.multi(&r.Ops, kind.newRequest) }
func (r *MultiReply) fields(c *codec)   { c.multi(&r.Ops, kind.newReply) }

// multi reads or writes headers with their records, and the header that says that there are no more.
func (c *codec) multi(ops *[]MultiOp, fresh func(kind) Record) {
	if !c.reading {
		for i := range *ops {
			c.part(&(*ops)[i])
		}
		end, done := MultiOp{Op: OpError, Err: -1}, true
		c.partHeader(&end, &done)
		return
	}
	*ops = nil
	for {
		var op MultiOp
		var done bool
		c.partHeader(&op, &done)
		switch {
		case done || c.err != nil:
			return
		case len(*ops) == MultiMax:
			c.fail("it has more than %d operations", MultiMax)
			return
		}
		if k, known := kinds[op.Op]; !known || op.Op == OpMulti || op.Op == OpMultiRead {
			c.fail("there is no %v in a multi", op.Op)
			return
		} else if op.Record = fresh(k); op.Record != nil {
			op.Record.fields(c)
		}
		*ops = append(*ops, op)
	}
}

// part writes one operation.
func (c *codec) part(op *MultiOp) {
	done := false
	c.partHeader(op, &done)
	if op.Record != nil {
		op.Record.fields(c)
	}
}

func (c *codec) partHeader(op *MultiOp, done *bool) {
	c.int32((*int32)(&op.Op))
	c.bool(done)
	c.int32(&op.Err)
}
