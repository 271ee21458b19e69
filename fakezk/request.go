package fakezk

import "github.com/zktorture/zktorture/fakezk/wire"

// Request carries out a request that has reached the server. Its reply and the events that it causes enter the queues
// of the connections. It is dropped without an answer on a closed connection, and if it is a write or sync of an
// ended session: a follower that lags applies the end first, because the request waits there for its commit
// (CommitProcessor). So is a write at a deposed leader, with all that comes behind it. A request longer than
// Config.BufferMax closes the connection. r may be used again afterwards; its data are copied.
func (e *Ensemble) Request(now int64, id ConnID, r *Request) {
	c := e.streams.byID(id)
	if c == nil || !c.open || c.hangs {
		return
	}
	if int64(r.Size()) > e.cfg.BufferMax {
		c.hangUp()
		return
	}
	if r.Op == wire.OpAuth {
		c.authenticate(r, e.cfg.Super)
		return
	}
	if c.session.closed && viaLeader(r.Op) {
		e.cluster.catchUp(c.replica)
		return
	}
	if !c.session.closed {
		c.session.touch(now, c.timeout, e.cfg.Tick)
	}
	switch {
	case !r.Op.Known():
		c.refuse()
	case e.cluster.old.is(c.replica) && proposed(r.Op):
		c.hangs = true
	case c.session.owner != c.replica.index && (isWrite(r.Op) || c.replica == e.cluster.leader()):
		e.moved(now, c, r.Op)
	default:
		e.respond(now, c, r)
	}
}

// Malformed answers a request of which only the operation could be read. A write is found to be malformed when the
// leader has given it its transaction, which fails; a read by the server that answers it
// (PrepRequestProcessor.pRequest, FinalRequestProcessor.processRequest). Credentials that cannot be read cost the
// connection.
func (e *Ensemble) Malformed(now int64, id ConnID, op wire.Op) {
	c := e.streams.byID(id)
	switch {
	case c == nil || !c.open || c.hangs:
		return
	case op == wire.OpAuth:
		c.hangUp()
		return
	case !op.Known():
		c.refuse()
		return
	case e.cluster.old.is(c.replica) && proposed(op):
		c.hangs = true
		return
	}
	if !c.session.closed {
		c.session.touch(now, c.timeout, e.cfg.Tick)
	}
	if isWrite(op) {
		e.commit(transaction{time: now, session: c.session.id}, nil)
		e.cluster.catchUp(c.replica)
	}
	c.reply(wire.CodeMarshalling, c.replica.zxid)
}

// viaLeader reports which requests a follower passes on.
func viaLeader(op wire.Op) bool { return op == wire.OpSync || proposed(op) }

// proposed reports which requests a leader puts to the others.
func proposed(op wire.Op) bool { return op.Writes() || op == wire.OpCheck }

// isWrite reports which of them have a transaction though they cannot be read, or their session has moved.
func isWrite(op wire.Op) bool { return proposed(op) && op != wire.OpReconfig }

// authenticate answers with zxid 0; an unknown scheme closes the connection (ZooKeeperServer.processPacket). It does
// not prolong the session.
func (c *connection) authenticate(r *Request, super string) {
	if c.prove(r.Scheme, r.Auth, super) {
		c.reply(wire.CodeOK, 0)
		return
	}
	c.reply(wire.CodeAuthFailed, 0)
	c.hangUp()
}

// refuse answers an operation that the server does not know.
func (c *connection) refuse() {
	c.reply(wire.CodeUnimplemented, -1)
	c.hangUp()
}

// reply answers with a code alone.
func (c *connection) reply(code wire.Code, zxid int64) {
	reply := c.replica.streams.blocks.response()
	reply.Err, reply.Zxid = code, zxid
	c.push(Message{Reply: reply})
}

// moved closes the old connection of a session that has moved to another server. Followers do not check their reads,
// so reads go on there. A write has failed, and has a zxid as every failed write.
func (e *Ensemble) moved(now int64, c *connection, op wire.Op) {
	if isWrite(op) {
		e.commit(transaction{time: now, session: c.session.id}, nil)
		e.cluster.catchUp(c.replica)
	}
	c.hangUp()
}

// respond queues the answer behind the events that the request has caused.
func (e *Ensemble) respond(now int64, c *connection, r *Request) {
	reply := e.streams.blocks.response()
	e.answer(now, c, r, reply)
	reply.Zxid = c.replica.zxid
	c.push(Message{Reply: reply})
	if r.Op == wire.OpCloseSession {
		c.hangUp()
	}
}

func (e *Ensemble) answer(now int64, c *connection, r *Request, reply *Response) {
	switch {
	case r.Op == wire.OpPing:
	case r.Op == wire.OpCloseSession:
		e.endSession(now, c.session, c)
	case r.Op == wire.OpSync:
		reply.Path = r.Path
	case r.Op == wire.OpReconfig: // Config has no reconfigEnabled, which is ZooKeeper's default, too
		reply.Err = wire.CodeReconfigDisabled
		e.commit(transaction{time: now, session: c.session.id}, nil)
	case r.Op == wire.OpMulti:
		e.multi(now, c, r, reply)
	case isWrite(r.Op):
		e.write(now, c, r, reply)
	default:
		c.read(r, reply)
	}
	if viaLeader(r.Op) && !e.cluster.old.is(c.replica) {
		e.cluster.catchUp(c.replica)
	}
}

// Admin carries out a request with all permissions on the leader, without session or connection. Ephemeral nodes, and
// operations on watches, credentials or sessions (CodeUnimplemented), are not possible.
func (e *Ensemble) Admin(now int64, r *Request) Response {
	var reply Response
	switch r.Op {
	case wire.OpCloseSession, wire.OpAuth, wire.OpSetWatches, wire.OpSetWatches2,
		wire.OpAddWatch, wire.OpCheckWatches, wire.OpRemoveWatches, wire.OpCheck:
		reply.Err = wire.CodeUnimplemented
	default:
		unwatched := *r
		unwatched.Watch = false
		e.answer(now, &e.admin, &unwatched, &reply)
	}
	reply.Zxid = e.Zxid()
	return reply
}
