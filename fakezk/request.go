package fakezk

// Request carries out a request that has reached the server. Its reply and the events that it causes enter the queues
// of the connections. It is dropped without an answer on a closed connection, and if it is a write or sync of an
// ended session: a follower that lags applies the end first, because the request waits there for its commit
// (CommitProcessor). So is a write at a deposed leader, with all that comes behind it. A request longer than
// Config.BufferMax closes the connection. r may be used again afterwards; its data are copied.
func (e *Ensemble) Request(now int64, id ConnID, r *Request) {
	c := e.connection(id)
	if c == nil || !c.open || c.hangs {
		return
	}
	if int64(r.size()) > e.cfg.BufferMax {
		e.hangUp(c)
		return
	}
	r = received(r)
	switch r.Op {
	case OpSetAuth:
		e.authenticate(c, r)
		return
	case OpSASL:
		e.sasl(c, r)
		return
	}
	if c.session.closed && viaLeader(r.Op) {
		e.catchUp(c.replica)
		return
	}
	if !c.session.closed {
		e.touch(now, c.session, c.timeout)
	}
	switch {
	case e.noQuorum && refusesReadOnly(r.Op):
		e.refuseToWrite(c)
	case !e.cfg.Compat.knows(r.Op):
		e.refuse(c)
	case e.isDeposed(c.index) && proposed(r.Op):
		c.hangs = true
	case c.session.owner != c.index && (isWrite(r.Op) || c.replica == e.leader()):
		e.moved(now, c, r.Op)
	default:
		e.respond(now, c, r)
	}
}

// Malformed answers a request of which only the operation could be read. A write is found to be malformed when the
// leader has given it its transaction, which fails; a read by the server that answers it
// (PrepRequestProcessor.pRequest, FinalRequestProcessor.processRequest). Credentials that cannot be read cost the
// connection.
func (e *Ensemble) Malformed(now int64, id ConnID, op Op) {
	c := e.connection(id)
	switch {
	case c == nil || !c.open || c.hangs:
		return
	case op == OpSetAuth || op == OpSASL:
		e.hangUp(c)
		return
	case e.noQuorum && refusesReadOnly(op):
		e.refuseToWrite(c)
		return
	case !e.cfg.Compat.knows(op):
		e.refuse(c)
		return
	case e.isDeposed(c.index) && proposed(op):
		c.hangs = true
		return
	}
	if !c.session.closed {
		e.touch(now, c.session, c.timeout)
	}
	if isWrite(op) {
		e.commit(transaction{time: now, session: c.session.id}, nil)
		e.catchUp(c.replica)
	}
	reply := e.newResponse()
	reply.Err, reply.Zxid = CodeMarshalling, c.replica.zxid
	e.push(c, Message{Reply: reply})
}

// viaLeader tells which requests a follower passes on.
func viaLeader(op Op) bool { return op == OpSync || op == OpReconfig || isWrite(op) }

func isWrite(op Op) bool {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpSetACL, OpCheck, OpMulti,
		OpCloseSession:
		return true
	}
	return false
}

// authenticate answers with zxid 0; an unknown scheme closes the connection (ZooKeeperServer.processPacket). It does
// not prolong the session.
func (e *Ensemble) authenticate(c *connection, r *Request) {
	reply := e.newResponse()
	if c.prove(r.Scheme, r.Auth, e.cfg.Super) {
		e.push(c, Message{Reply: reply})
		return
	}
	reply.Err = CodeAuthFailed
	e.push(c, Message{Reply: reply})
	e.hangUp(c)
}

// refuse answers an operation that the server does not know.
func (e *Ensemble) refuse(c *connection) {
	reply := e.newResponse()
	reply.Err, reply.Zxid = CodeUnimplemented, -1
	e.push(c, Message{Reply: reply})
	e.hangUp(c)
}

// refuseToWrite answers what a read-only server does not do.
func (e *Ensemble) refuseToWrite(c *connection) {
	reply := e.newResponse()
	reply.Err, reply.Zxid = CodeNotReadOnly, c.replica.zxid
	e.push(c, Message{Reply: reply})
}

// moved closes the old connection of a session that has moved to another server. Followers do not check their reads,
// so reads go on there. A write has failed, and has a zxid as every failed write.
func (e *Ensemble) moved(now int64, c *connection, op Op) {
	if isWrite(op) {
		e.commit(transaction{time: now, session: c.session.id}, nil)
		e.catchUp(c.replica)
	}
	e.hangUp(c)
}

// respond queues the answer behind the events that the request has caused.
func (e *Ensemble) respond(now int64, c *connection, r *Request) {
	reply := e.newResponse()
	e.answer(now, c, r, reply)
	reply.Zxid = c.replica.zxid
	e.push(c, Message{Reply: reply})
	if r.Op == OpCloseSession {
		e.hangUp(c)
	}
}

// newResponse takes a response from a block that is allocated at once.
func (e *Ensemble) newResponse() *Response {
	if len(e.responses) == 0 {
		e.responses = make([]Response, 16)
	}
	r := &e.responses[0]
	e.responses = e.responses[1:]
	return r
}

func (e *Ensemble) answer(now int64, c *connection, r *Request, reply *Response) {
	switch {
	case r.Op == OpPing:
	case r.Op == OpCloseSession && e.noQuorum:
		e.closeLocal(c.session)
	case r.Op == OpCloseSession:
		e.endSession(now, c.session, c)
	case r.Op == OpSync:
		reply.Path = encoded(r.Path)
	case r.Op == OpReconfig:
		e.reconfig(now, c, r, reply)
	case r.Op == OpMulti:
		e.multi(now, c, r, reply)
	case isWrite(r.Op):
		e.write(now, c, r, reply)
	default:
		e.read(c, r, reply)
	}
	if viaLeader(r.Op) && !e.isDeposed(c.index) {
		e.catchUp(c.replica)
	}
}

// Admin carries out a request with all permissions on the leader, without session or connection. Ephemeral nodes, and
// operations on watches, credentials or sessions (CodeUnimplemented), are not possible.
func (e *Ensemble) Admin(now int64, r *Request) Response {
	var reply Response
	switch r.Op {
	case OpCloseSession, OpSetAuth, OpSASL, OpSetWatches, OpSetWatches2, OpAddWatch, OpCheckWatches, OpRemoveWatches, OpCheck:
		reply.Err = CodeUnimplemented
	default:
		unwatched := *received(r)
		unwatched.Watch = false
		e.answer(now, &e.admin, &unwatched, &reply)
	}
	reply.Zxid = e.Zxid()
	return reply
}
