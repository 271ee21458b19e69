package server

import (
	"strconv"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk/protocol"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// traffic is what ZooKeeper counts of a connection, and of a server (ServerStats). It begins as newTraffic.
type traffic struct {
	received, sent int64
	latency        latency
	size           size // of replies
}

func newTraffic() traffic { return traffic{size: size{-1, -1, -1}} }

// latency is of requests, in milliseconds.
type latency struct{ count, sum, last, least, most int64 }

func (l *latency) add(took time.Duration) {
	l.last = took.Milliseconds()
	if l.least = min(l.least, l.last); l.count == 0 {
		l.least = l.last
	}
	l.most = max(l.most, l.last)
	l.count++
	l.sum += l.last
}

// mean is rounded to four places (AvgMinMaxCounter).
func (l *latency) mean() float {
	if l.count == 0 {
		return 0
	}
	return float(l.sum*10_000/l.count) / 10_000
}

// float is a number as Java prints it, with a point.
type float float64

func (f float) String() string {
	text := strconv.FormatFloat(float64(f), 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// MarshalJSON implements json.Marshaler.
func (f float) MarshalJSON() ([]byte, error) { return []byte(f.String()), nil }

// size is of messages, in bytes; -1: there was none.
type size struct{ last, least, most int64 }

func (x *size) add(bytes int) {
	x.last = int64(bytes)
	if x.least = min(x.least, x.last); x.least < 0 {
		x.least = x.last
	}
	x.most = max(x.most, x.last)
}

// outcome is what cons says of the last reply.
type outcome struct {
	op   wire.Op
	xid  int64 // of the last request with a number of its own: a ping has none
	zxid int64
	at   int64 // ms since 1970
}

// noOutcome is that of a connection whose statistics were reset.
var noOutcome = outcome{op: wire.OpError, xid: -1, zxid: -1}

func (o *outcome) note(asked protocol.Asked, zxid int64) {
	o.op, o.zxid, o.at = asked.Op, zxid, time.Now().UnixMilli()
	if asked.Xid >= 0 {
		o.xid = int64(asked.Xid)
	}
}

// heard counts a frame, or a four-letter word, of a client. Server.mu is held.
func (c *connection) heard() {
	c.counts.received++
	c.member.counts.received++
}

// said counts an answer or an event. Server.mu is held.
func (c *connection) said() {
	c.counts.sent++
	c.member.counts.sent++
}

// replied counts a reply of some bytes. Server.mu is held.
func (c *connection) replied(to pending, zxid int64, bytes int) {
	took := time.Since(to.at)
	c.counts.latency.add(took)
	c.member.counts.latency.add(took)
	c.member.counts.size.add(bytes)
	c.last.note(to.Asked, zxid)
}

// resetConnections is crst.
func (m *member) resetConnections() {
	for c := range m.open {
		c.counts, c.last = newTraffic(), noOutcome
	}
}
