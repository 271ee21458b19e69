package world

import (
	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/protocol"
)

// heard is the servers for a client in process. If a record is kept, what they say to each other is in it, as frames.
func (w *World) heard() goclient.Servers {
	if w.record == nil {
		return w.servers
	}
	return &heardServers{w: w}
}

// heardServers is the servers as one client has them, with a record of what passes.
type heardServers struct {
	w     *World
	xid   int32            // of the last request
	asked []protocol.Asked // what the present connection has to answer, oldest first
}

func (h *heardServers) Connect(
	now int64, replica int, asked fakezk.ConnectRequest,
) (fakezk.ConnID, fakezk.ConnectResponse, error) {
	h.asked = nil
	return h.w.greet(now, replica, asked, protocol.AppendHandshake(nil, asked))
}

func (h *heardServers) Request(now int64, id fakezk.ConnID, r *fakezk.Request) {
	h.xid++
	asked := protocol.Asked{Xid: h.xid, Op: r.Op}
	h.asked = append(h.asked, asked)
	h.w.noteTalk(Talk{Kind: TalkRequest, Conn: int32(id), Frame: protocol.AppendRequest(nil, asked, r)})
	h.w.servers.Request(now, id, r)
}

func (h *heardServers) Next(id fakezk.ConnID) (fakezk.Message, bool) {
	m, ok := h.w.servers.Next(id)
	if !ok {
		return m, false
	}
	talk := Talk{Kind: TalkEvent, Conn: int32(id)}
	switch {
	case m.Closed:
		talk.Kind = TalkClosed
	case m.Reply != nil:
		asked := h.asked[0]
		h.asked = h.asked[1:]
		talk.Kind, talk.Asked, talk.Frame = TalkReply, asked.Op, protocol.AppendReply(nil, asked, m.Reply)
	default:
		talk.Frame = protocol.AppendEvent(nil, &m)
	}
	h.w.noteTalk(talk)
	return m, true
}

func (h *heardServers) Drop(id fakezk.ConnID) {
	h.w.noteTalk(Talk{Kind: TalkDropped, Conn: int32(id)})
	h.w.servers.Drop(id)
}

// greet has a server answer a handshake, of which the frame is given.
func (w *World) greet(
	now int64, replica int, asked fakezk.ConnectRequest, frame []byte,
) (id fakezk.ConnID, granted fakezk.ConnectResponse, err error) {
	talk := Talk{Kind: TalkHello, Server: replica, Frame: frame, Behind: w.behind()}
	id, granted, err = w.servers.Connect(now, replica, asked)
	talk.Conn, talk.Session, talk.Refused = int32(id), granted.SessionID, err != nil
	w.noteTalk(talk)
	return id, granted, err
}
