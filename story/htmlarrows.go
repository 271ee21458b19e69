package story

import (
	"strings"

	"github.com/zktorture/zktorture/sim/world"
)

// apart is the offset of the request and reply of one exchange from their row, in pixels.
const apart = 4.0

// arrows draws the messages between clients and servers.
func (d *diagram) arrows() {
	answered := map[int]bool{}
	for _, e := range d.story.Events {
		if e.Kind == kindReply && e.From >= 0 {
			answered[e.From] = true
		}
	}
	for i, e := range d.story.Events {
		if e.Client < 0 || d.row[i] < 0 {
			continue
		}
		if e.Kind == kindRequest && !answered[i] {
			d.unanswered(i, e)
		}
		d.arrow(i, e)
	}
}

func (d *diagram) arrow(i int, e Event) {
	at, client, server := d.y(d.row[i]), d.clients[e.Client], d.server(e)
	switch e.Kind {
	case kindExchange:
		d.message("request", client, d.sent(i, e), server, at-apart)
		d.message("reply", server, at+apart, client, at+apart)
	case kindRequest:
		d.message("request", client, d.sent(i, e), server, at)
	case kindReply:
		d.message("reply", server, d.from(i, e), client, at)
	case kindWatch:
		d.message("watch", server, d.from(i, e), client, at)
	case kindBegins, kindResumes, kindRefused:
		d.message("connect", client, at, server, at)
	case kindFault:
		d.fault(i, e)
	case kindEnds:
		d.tag("circle", "", "class", "ended", "cx", server, "cy", at, "r", 5.0)
	}
}

// fault draws a message lost with a connection, as far as it got.
func (d *diagram) fault(i int, e Event) {
	at, client, server := d.y(d.row[i]), d.clients[e.Client], d.server(e)
	half := (client + server) / 2
	switch world.Lost(e.Lost) {
	case world.LostRequest:
		d.message("request", client, d.sent(i, e), half, at)
		d.cross(half, at)
	case world.LostReply:
		d.message("request", client, d.sent(i, e), server, at-apart)
		d.message("reply lost", server, at+apart, half, at+apart)
		d.cross(half, at+apart)
	case world.LostEvent:
		d.message("watch lost", server, d.from(i, e), half, at)
		d.cross(half, at)
	}
	d.bolt(client, at)
}

// unanswered draws a reply that was lost when the connection broke.
func (d *diagram) unanswered(i int, e Event) {
	client, server := d.clients[e.Client], d.server(e)
	half := (client + server) / 2
	for j := i + 1; j < len(d.story.Events); j++ {
		other := d.story.Events[j]
		if other.Client == e.Client && d.row[j] >= 0 && (other.Kind == kindFault || other.Kind == kindClosed) {
			d.message("reply lost", server, d.y(d.row[i]), half, d.y(d.row[j]))
			d.cross(half, d.y(d.row[j]))
			return
		}
	}
}

func (d *diagram) message(class string, x1, y1, x2, y2 float64) {
	kind := class[strings.LastIndexByte(class, ' ')+1:]
	d.tag("line", "", "class", "message "+class, "x1", x1, "y1", y1, "x2", x2, "y2", y2,
		"marker-end", "url(#tip-"+kind+")")
}

// server is the x of an event's server; of an unconnected client, the first.
func (d *diagram) server(e Event) float64 { return d.servers[max(0, min(e.Server, len(d.servers)-1))] }

// sent is where a request starts: at the last row of its client, or of any client, in the step that sent it.
func (d *diagram) sent(i int, e Event) float64 {
	if e.Sent >= e.Step {
		return d.y(d.row[i]) - apart
	}
	start := -1
	for j, other := range d.story.Events[:i] {
		if d.row[j] >= 0 && other.Step == e.Sent && (start < 0 || other.Client == e.Client) {
			start = d.row[j]
		}
	}
	if start < 0 {
		return max(headHeight, d.at(e.Sent))
	}
	return d.y(start)
}

// from is where a message from the server starts: at its cause.
func (d *diagram) from(i int, e Event) float64 {
	if e.From < 0 || d.row[e.From] < 0 {
		return d.y(d.row[i])
	}
	return d.y(d.row[e.From])
}
