// Package protocol translates between the records of ZooKeeper's protocol (package wire) and what package fakezk takes
// and gives: requests, messages and handshakes. Package server uses it for sockets, and package sim for connections in
// memory.
package protocol

import (
	"bytes"
	"errors"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// Asked is the part of a request that its reply needs.
type Asked struct {
	Xid int32
	Op  wire.Op
}

// Handshake is what the first frame of a client asks for.
func Handshake(asked *wire.ConnectRequest) fakezk.ConnectRequest {
	return fakezk.ConnectRequest{
		LastZxid: asked.LastZxid, Timeout: int64(asked.Timeout), SessionID: asked.Session, Password: asked.Password,
	}
}

// AppendHandshake appends the frame of a handshake, without its length, as Handshake reads it.
func AppendHandshake(b []byte, asked fakezk.ConnectRequest) []byte {
	password := asked.Password
	if password == nil {
		password = make([]byte, passwordBytes)
	}
	return wire.Append(b, &wire.ConnectRequest{
		LastZxid: asked.LastZxid, Timeout: int32(asked.Timeout), Session: asked.SessionID, Password: password,
		ReadOnly: new(bool),
	})
}

// ParseRequest reads what follows the header of a client's frame. The operation is set even if the rest is malformed.
func ParseRequest(op wire.Op, body []byte) (fakezk.Request, error) {
	r := fakezk.Request{Op: op}
	record := wire.NewRequest(op)
	if record == nil {
		return r, nil
	}
	if _, err := wire.Parse(body, record); err != nil {
		return r, err
	}
	if bytes.HasPrefix(body, nullText) && op.NeedsPath() {
		return r, errNullPath
	}
	fill(&r, record)
	return r, nil
}

var (
	nullText    = []byte{0xff, 0xff, 0xff, 0xff}
	errNullPath = errors.New("the path is null")
)

func fill(r *fakezk.Request, record wire.Record) {
	switch x := record.(type) {
	case *wire.PathRequest:
		r.Path = x.Path
	case *wire.PathVersionRequest:
		r.Path, r.Version = x.Path, x.Version
	case *wire.PathTypeRequest:
		r.Path, r.Kind = x.Path, x.Type
	case *wire.WatchRequest:
		r.Path, r.Watch = x.Path, x.Watch
	case *wire.CreateRequest:
		r.Path, r.Data, r.ACL, r.Flags = x.Path, x.Data, x.ACL, x.Flags
	case *wire.CreateTTLRequest:
		fill(r, &x.CreateRequest)
		r.TTL = x.TTL
	case *wire.SetDataRequest:
		r.Path, r.Data, r.Version = x.Path, x.Data, x.Version
	case *wire.SetACLRequest:
		r.Path, r.ACL, r.Version = x.Path, x.ACL, x.Version
	case *wire.AuthRequest:
		r.Scheme, r.Auth = x.Scheme, x.Auth
	case *wire.SetWatchesRequest:
		r.RelativeZxid, r.DataWatches, r.ExistWatches, r.ChildWatches = x.LastZxid, x.Data, x.Exist, x.Childs
	case *wire.SetWatches2Request:
		fill(r, &x.SetWatchesRequest)
		r.PersistentWatches, r.RecursiveWatches = x.Persistent, x.Recursive
	case *wire.MultiRequest:
		r.Ops = make([]fakezk.Request, len(x.Ops))
		for i, op := range x.Ops {
			r.Ops[i].Op = op.Op
			fill(&r.Ops[i], op.Record)
		}
	}
}

// AppendRequest appends the frame of a request, without its length: what ParseRequest reads, behind the header.
func AppendRequest(b []byte, asked Asked, r *fakezk.Request) []byte {
	b = wire.Append(b, &wire.RequestHeader{Xid: asked.Xid, Op: asked.Op})
	if record := recordOf(r); record != nil {
		b = wire.Append(b, record)
	}
	return b
}

// recordOf is what follows the header; nil if nothing does.
func recordOf(r *fakezk.Request) wire.Record {
	record := wire.NewRequest(r.Op)
	switch x := record.(type) {
	case *wire.PathRequest:
		x.Path = r.Path
	case *wire.PathVersionRequest:
		x.Path, x.Version = r.Path, r.Version
	case *wire.PathTypeRequest:
		x.Path, x.Type = r.Path, r.Kind
	case *wire.WatchRequest:
		x.Path, x.Watch = r.Path, r.Watch
	case *wire.CreateRequest:
		*x = createOf(r)
	case *wire.CreateTTLRequest:
		x.CreateRequest, x.TTL = createOf(r), r.TTL
	case *wire.SetDataRequest:
		x.Path, x.Data, x.Version = r.Path, r.Data, r.Version
	case *wire.SetACLRequest:
		x.Path, x.ACL, x.Version = r.Path, r.ACL, r.Version
	case *wire.AuthRequest:
		x.Scheme, x.Auth = r.Scheme, r.Auth
	case *wire.SetWatchesRequest:
		*x = setWatchesOf(r)
	case *wire.SetWatches2Request:
		x.SetWatchesRequest, x.Persistent, x.Recursive = setWatchesOf(r), r.PersistentWatches, r.RecursiveWatches
	case *wire.MultiRequest:
		for i := range r.Ops {
			x.Ops = append(x.Ops, wire.MultiOp{Op: r.Ops[i].Op, Err: noError, Record: recordOf(&r.Ops[i])})
		}
	}
	return record
}

// noError stands in front of each operation of a multi's request (MultiTransactionRecord).
const noError = -1

func createOf(r *fakezk.Request) wire.CreateRequest {
	return wire.CreateRequest{Path: r.Path, Data: r.Data, ACL: r.ACL, Flags: r.Flags}
}

func setWatchesOf(r *fakezk.Request) wire.SetWatchesRequest {
	return wire.SetWatchesRequest{LastZxid: r.RelativeZxid, Data: r.DataWatches, Exist: r.ExistWatches, Childs: r.ChildWatches}
}

// AppendReply appends the reply to a request. An error has no body. A ping is answered under a number of its own.
func AppendReply(b []byte, asked Asked, m *fakezk.Response) []byte {
	header := &wire.ReplyHeader{Xid: asked.Xid, Zxid: m.Zxid, Err: m.Err}
	if asked.Op == wire.OpPing {
		header.Xid = wire.XidPing
	}
	if body := replyTo(asked.Op, m); body != nil && m.Err == wire.CodeOK {
		return wire.AppendFrame(b, header, body)
	}
	return wire.AppendFrame(b, header)
}

// replyTo is what follows the header; nil if nothing does.
func replyTo(op wire.Op, m *fakezk.Response) wire.Record {
	record := wire.NewReply(op)
	switch x := record.(type) {
	case *wire.PathReply:
		x.Path = m.Path
	case *wire.CreateReply:
		x.Path, x.Stat = m.Path, m.Stat
	case *wire.StatReply:
		x.Stat = m.Stat
	case *wire.DataReply:
		x.Data, x.Stat = m.Data, m.Stat
	case *wire.ACLReply:
		x.ACL, x.Stat = m.ACL, m.Stat
	case *wire.NamesReply:
		x.Names = notNil(m.Children)
	case *wire.Children2Reply:
		x.Names, x.Stat = notNil(m.Children), m.Stat
	case *wire.MultiReply:
		x.Ops = make([]wire.MultiOp, len(m.Results))
		for i := range m.Results {
			x.Ops[i] = multiPart(&m.Results[i])
		}
	}
	return record
}

// notNil returns an empty list for none: go-zookeeper takes the length of a null vector, -1, for 4294967295.
func notNil(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// multiPart is the answer to one operation of a multi.
func multiPart(x *fakezk.Result) wire.MultiOp {
	part := wire.MultiOp{Op: x.Op, Err: x.Err}
	switch part.Op {
	case wire.OpError:
		part.Record = &wire.CountReply{Count: int32(x.Err)}
	case wire.OpCreate:
		part.Record = &wire.PathReply{Path: x.Path}
	case wire.OpCreate2:
		part.Record = &wire.CreateReply{Path: x.Path, Stat: x.Stat}
	case wire.OpSetData:
		part.Record = &wire.StatReply{Stat: x.Stat}
	}
	return part
}

// stateConnected is SyncConnected, the state in which a server tells of every event (Watcher.Event.KeeperState).
const stateConnected = 3

// eventZxid stands in the header of an event, which has no transaction of its own.
const eventZxid = -1

// AppendEvent appends a watch event.
func AppendEvent(b []byte, m *fakezk.Message) []byte {
	return wire.AppendFrame(b, &wire.ReplyHeader{Xid: wire.XidWatch, Zxid: eventZxid},
		&wire.WatcherEvent{Type: int32(m.Event), State: stateConnected, Path: m.Path})
}

// AppendConnected appends the answer to a handshake. A client that is refused gets a session and a timeout of 0.
func AppendConnected(b []byte, asked *wire.ConnectRequest, granted fakezk.ConnectResponse) []byte {
	timeout := int32(granted.Timeout)
	reply := &wire.ConnectResponse{Timeout: timeout, Session: granted.SessionID, Password: granted.Password}
	if reply.Session == 0 {
		reply.Password = make([]byte, passwordBytes)
	}
	if asked.ReadOnly != nil {
		reply.ReadOnly = new(bool)
	}
	return wire.AppendFrame(b, reply)
}

const passwordBytes = 16
