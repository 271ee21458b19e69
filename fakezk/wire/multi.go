package wire

// MultiRequest is of multi and multiRead: operations that are carried out together or not at all.
type MultiRequest struct{ Ops []MultiOp }

// MultiReply is the answer: one part for each operation, in order.
type MultiReply struct{ Ops []MultiOp }

// MultiOp is one operation of a multi, or its result.
type MultiOp struct {
	Op     Op
	Err    Code   // in a reply; -1 in a request
	Record Record // nil if there is nothing to say, as of a delete
}

// multiMax is the most operations in a multi that is read.
const multiMax = 1 << 16

// multiHeader is in front of each operation; Done says that there is none.
type multiHeader struct {
	Op   Op
	Done bool
	Err  Code
}

// multi reads or writes operations.
func (c *codec) multi(ops *[]MultiOp, fresh func(Op) Record) {
	if c.reading {
		*ops = c.parts(fresh)
		return
	}
	for _, op := range *ops {
		c.record(&multiHeader{Op: op.Op, Err: op.Err})
		if op.Record != nil {
			c.record(op.Record)
		}
	}
	c.record(&multiHeader{OpError, true, -1})
}

func (c *codec) parts(fresh func(Op) Record) (ops []MultiOp) {
	for {
		var h multiHeader
		c.record(&h)
		switch {
		case h.Done || c.err != nil:
			return ops
		case len(ops) == multiMax:
			c.fail("it has more than %d operations", multiMax)
			return ops
		case h.Op.kind().name == "" || h.Op == OpMulti:
			c.fail("there is no %v in a multi", h.Op)
			return ops
		}
		op := MultiOp{h.Op, h.Err, fresh(h.Op)}
		if op.Record != nil {
			c.record(op.Record)
		}
		ops = append(ops, op)
	}
}
