package conformance_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// opConnect stands for a connect request, which has no operation.
const opConnect wire.Op = -10

// normal returns a frame of a server with what may differ between two servers made equal: passwords, times, the ids of
// sessions, the order of children and of identities. A frame that cannot be read as a reply stays as it is.
func (p *wirePlayer) normal(op wire.Op, frame []byte) []byte {
	if frame == nil || isEvent(frame) {
		return frame
	}
	records, ok := parseReply(op, frame)
	if !ok {
		return frame
	}
	var out []byte
	for _, r := range records {
		p.normalize(r)
		out = wire.Append(out, r)
	}
	return out
}

// parseReply reads a reply. It is false if a client would write the same reply otherwise.
func parseReply(op wire.Op, frame []byte) ([]wire.Record, bool) {
	header := &wire.ReplyHeader{}
	records := []wire.Record{header}
	if op == opConnect {
		records = []wire.Record{&wire.ConnectResponse{}}
	}
	rest, err := wire.Parse(frame, records[0])
	if body := wire.NewReply(op); body != nil && err == nil && header.Err == 0 {
		rest, err = wire.Parse(rest, body)
		records = append(records, body)
	}
	var again []byte
	for _, r := range records {
		again = wire.Append(again, r)
	}
	return records, err == nil && len(rest) == 0 && bytes.Equal(frame, again)
}

func (p *wirePlayer) normalize(r wire.Record) {
	switch r := r.(type) {
	case *wire.ConnectResponse:
		if bytes.Equal(r.Password, p.passwords[r.Session]) {
			r.Password = nil
		}
		r.Session = p.order[r.Session]
	case *wire.NamesReply:
		slices.Sort(r.Names)
	case *wire.Children2Reply:
		slices.Sort(r.Names)
		p.normalizeStat(&r.Stat)
	case *wire.CreateReply:
		p.normalizeStat(&r.Stat)
	case *wire.StatReply:
		p.normalizeStat(&r.Stat)
	case *wire.DataReply:
		p.normalizeStat(&r.Stat)
	case *wire.ACLReply:
		slices.SortFunc(r.ACL, func(a, b zk.ACL) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		p.normalizeStat(&r.Stat)
	case *wire.MultiReply:
		for _, part := range r.Ops {
			p.normalize(part.Record)
		}
	}
}

// normalizeStat leaves of times whether there are any, and whether they are in order; of an owner its number.
func (p *wirePlayer) normalizeStat(s *zk.Stat) {
	created, modified := s.Ctime, s.Mtime
	s.Ctime, s.Mtime = min(1, created), min(1, modified)
	if modified < created {
		s.Mtime = -1
	}
	if s.EphemeralOwner != 0 {
		s.EphemeralOwner = p.order[s.EphemeralOwner]
	}
}

// String shows a message.
func (m wireMessage) String() string {
	who := fmt.Sprintf("client %d: ", m.client)
	switch {
	case m.frame == nil:
		return who + "closed"
	case isEvent(m.frame):
		var header wire.ReplyHeader
		var event wire.WatcherEvent
		rest, _ := wire.Parse(m.frame, &header)
		wire.Parse(rest, &event)
		return who + fmt.Sprintf("event %+v %+v", header, event)
	}
	records, ok := parseReply(m.op, m.frame)
	if !ok {
		return who + fmt.Sprintf("%v answered by %x", m.op, m.frame)
	}
	return who + fmt.Sprintf("%v answered by %s", m.op, showRecords(records))
}

func showRecords(records []wire.Record) string {
	var s strings.Builder
	for _, r := range records {
		if m, ok := r.(*wire.MultiReply); ok {
			for _, part := range m.Ops {
				fmt.Fprintf(&s, "[%v %d %s]", part.Op, part.Err, showRecords([]wire.Record{part.Record}))
			}
		} else if r != nil {
			fmt.Fprintf(&s, "%+q ", fmt.Sprintf("%+v", r))
		}
	}
	return s.String()
}

// String shows a step.
func (s wireStep) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "client %d: %s", s.client, s.do)
	if c := s.connect; c != nil {
		fmt.Fprintf(&b, ": %s, timeout %d", c.how, c.timeout)
		s.frames = c.frames
	}
	for _, f := range s.frames {
		fmt.Fprintf(&b, "\n    xid %d %v %s", f.xid, f.op, showBody(f.body))
		if f.raw != nil {
			fmt.Fprintf(&b, " as %x instead of %x", f.raw, wire.Append(nil, f.body))
		}
		if f.stream != nil {
			fmt.Fprintf(&b, " as %x", f.stream)
		}
	}
	return b.String()
}

func showBody(body wire.Record) string {
	m, ok := body.(*wire.MultiRequest)
	if !ok {
		return fmt.Sprintf("%+q", fmt.Sprintf("%#v", body))
	}
	var s strings.Builder
	for _, part := range m.Ops {
		fmt.Fprintf(&s, "\n        %v %s", part.Op, showBody(part.Record))
	}
	return s.String()
}
