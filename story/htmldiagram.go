package story

import (
	"fmt"
	"html/template"
	"strconv"

	"github.com/zktorture/zktorture/linearizability/operations"
)

// The space-time diagram, after Lamport ("Time, Clocks, and the Ordering of Events in a Distributed System", 1978):
// time runs down, each client and each server has a line, messages are arrows. Servers stand in the middle and
// clients' texts on the outside, so that with two clients no arrow crosses a text.
//
// A row is an event, or events of several clients in one step. A request starts at the row that sent it: a long arrow
// is a decision that was outdated on arrival.

// Geometry, in CSS pixels.
const (
	rowHeight   = 24.0
	headHeight  = 46.0
	footHeight  = 14.0
	gutterGap   = 16.0 // beside steps and times
	laneGap     = 96.0 // from a client to the servers
	serverGap   = 46.0
	bandWidth   = 26.0 // of a session
	barWidth    = 8.0  // of an operation
	curveWidth  = 104.0
	curveMargin = 26.0
)

// textWidths are the widths of clients' texts, by the number of clients.
var textWidths = []float64{236, 236, 236, 182}

const textWidthMany = 168

// boldShare is the share of a text's characters that fits in bold.
const boldShare = 0.88

type diagram struct {
	canvas
	story   prose
	frames  []frame
	row     []int // of each event, -1 if it is not drawn
	rows    int
	waits   int       // the first row of operations that wait for ever
	clients []float64 // x of each lifeline
	outward []float64 // -1: the text of a client is to the left of it, 1: to the right
	servers []float64
	text    float64 // width of texts
	steps   float64 // right edge of the steps
	times   float64 // and of the times
	curve   float64 // x of the curve
	width   float64
}

func newDiagram(s prose, frames []frame) *diagram {
	d := &diagram{story: s, frames: frames}
	d.layRows()
	d.layLanes()
	d.layFrames()
	return d
}

// layRows assigns a row to each event.
func (d *diagram) layRows() {
	taken := map[int]bool{} // clients in the last row
	before := -1            // event in the last row
	for i, e := range d.story.Events {
		if d.story.silent(i) {
			d.row = append(d.row, -1)
			continue
		}
		if before < 0 || !d.beside(e, d.story.Events[before], taken) {
			d.rows++
			clear(taken)
		}
		taken[e.Client], before = true, i
		d.row = append(d.row, d.rows-1)
	}
	d.waits = d.rows
	for c := range d.story.Clients {
		d.rows = max(d.rows, d.waits+d.waiting(c, len(d.story.Waits)))
	}
}

// waiting counts a client's users that wait for ever, among the first of the waits.
func (d *diagram) waiting(client, first int) (n int) {
	for _, w := range d.story.Waits[:first] {
		if d.story.Operations[w.Operation].Client == client {
			n++
		}
	}
	return n
}

// beside reports whether an event fits into the previous one's row.
func (d *diagram) beside(e, before Event, taken map[int]bool) bool {
	return e.Step == before.Step && e.Time == before.Time && e.Client >= 0 && before.Client >= 0 && !taken[e.Client]
}

// layLanes puts half of the clients left of the servers and half right.
func (d *diagram) layLanes() {
	n := len(d.story.Clients)
	d.text = textWidthMany
	if n < len(textWidths) {
		d.text = textWidths[n]
	}
	d.layGutter()
	x := d.times + gutterGap/2
	left := (n + 1) / 2
	for range left {
		x += d.text + bandWidth
		d.clients, d.outward = append(d.clients, x-bandWidth/2), append(d.outward, -1)
	}
	x += laneGap
	for i := range max(d.story.Servers, 1) {
		d.servers = append(d.servers, x+float64(i)*serverGap)
	}
	x = d.servers[len(d.servers)-1] + laneGap
	for range n - left {
		d.clients, d.outward = append(d.clients, x+bandWidth/2), append(d.outward, 1)
		x += d.text + bandWidth
	}
	if n == left {
		x -= laneGap - serverGap
	}
	d.curve = x + curveMargin
	d.width = x + 8
	if len(d.story.Curve) > 0 {
		d.width = d.curve + curveWidth + curveMargin
	}
}

// layGutter makes room for the longest step and time.
func (d *diagram) layGutter() {
	step, time := textWidth("step"), textWidth("0.000 s")
	for _, f := range d.frames {
		step, time = max(step, textWidth(strconv.FormatInt(f.Step, 10))), max(time, textWidth(f.Time))
	}
	d.steps = step + gutterGap/2
	d.times = d.steps + gutterGap + time
}

// layFrames gives each frame its position. A step without a row is at the end of the previous one.
func (d *diagram) layFrames() {
	first, last := make([]int, len(d.frames)), make([]int, len(d.frames))
	for i := range first {
		first[i], last[i] = -1, -1
	}
	for i, e := range d.story.Events {
		f, found := frameAt(d.frames, e.Step)
		if !found || d.row[i] < 0 {
			continue
		}
		if first[f] < 0 {
			first[f] = d.row[i]
		}
		last[f] = d.row[i]
	}
	end := headHeight
	for i := range d.frames {
		d.frames[i].Top, d.frames[i].Bottom = end, end
		if first[i] >= 0 {
			d.frames[i].Top, end = headHeight+float64(first[i])*rowHeight, headHeight+float64(last[i]+1)*rowHeight
			d.frames[i].Bottom = end
		}
	}
}

// y is the middle of a row.
func y(row int) float64 { return headHeight + (float64(row)+0.5)*rowHeight }

func (d *diagram) bottom() float64 { return headHeight + float64(d.rows)*rowHeight }

// at is the position of a step, with or without an event of its own.
func (d *diagram) at(step int64) float64 {
	switch {
	case step < 0 || len(d.frames) == 0:
		return d.bottom()
	case step < d.frames[0].Step:
		return headHeight
	}
	f := d.frames[frameFrom(d.frames, step)]
	return (f.Top + min(f.Bottom, f.Top+rowHeight)) / 2
}

func (d *diagram) draw(id string) template.HTML {
	d.shades()
	d.gutter()
	d.drawCurve()
	d.heads()
	d.drawSessions()
	d.lifelines()
	d.operations()
	d.arrows()
	d.texts()
	d.hits()
	label := fmt.Sprintf("Space-time diagram of %d steps with %d clients; the same is told below as text",
		len(d.frames), len(d.story.Clients))
	return d.svg(id, label, d.width, d.bottom()+footHeight)
}

// shades are the backgrounds of the pivotal step and of the scrubber's step.
func (d *diagram) shades() {
	for _, f := range d.frames {
		if f.Pivot {
			d.rect("pivot", 0, f.Top, d.width, f.Bottom-f.Top, 0)
		}
	}
	d.rect("now", 0, headHeight, d.width, rowHeight, 0)
	d.bracket()
}

// bracket marks the steps of the cause, at the left edge.
func (d *diagram) bracket() {
	c := d.story.Cause
	if !c.shows() || len(d.frames) == 0 {
		return
	}
	const x, tip = 2.0, 6.0
	top, bottom := d.frames[frameFrom(d.frames, c.From)].Top+3, d.frames[frameFrom(d.frames, c.To)].Bottom-3
	d.tag("path", "", "class", "bracket", "d", fmt.Sprintf("M%.1f %.1fH%.1fV%.1fH%.1f", x+tip, top, x, bottom, x+tip))
}

// gutter writes steps and times.
func (d *diagram) gutter() {
	d.canvas.text("head end", d.steps, headHeight-14, "step")
	d.canvas.text("head end", d.times, headHeight-14, "time")
	before := ""
	for _, f := range d.frames {
		if f.Bottom == f.Top {
			continue
		}
		middle := f.Top + rowHeight/2 + 4
		d.line("rule", 0, f.Top, d.width, f.Top)
		d.canvas.text("step", d.steps, middle, strconv.FormatInt(f.Step, 10))
		if f.Time != before {
			d.canvas.text("time", d.times, middle, f.Time)
			before = f.Time
		}
	}
}

func (d *diagram) heads() {
	for i, c := range d.story.Clients {
		d.canvas.text("head column", d.clients[i], headHeight-14, c.Name)
	}
	if len(d.servers) == 1 {
		d.canvas.text("head column", d.servers[0], headHeight-14, "ZooKeeper")
		return
	}
	d.canvas.text("head column", (d.servers[0]+d.servers[len(d.servers)-1])/2, headHeight-28, "ZooKeeper servers")
	for i, x := range d.servers {
		d.canvas.text("head column", x, headHeight-12, strconv.Itoa(i))
	}
}

// drawSessions draws sessions as bands.
func (d *diagram) drawSessions() {
	for _, s := range d.story.Sessions {
		x := d.clients[s.Client] - bandWidth/2
		d.open("session", d.story.tellSession(s))
		for _, span := range d.story.spans(s) {
			from, until := d.begin(span.from), d.at(span.until)
			d.rect(span.class, x, from, bandWidth, until-from, 3)
		}
		if s.Begin <= 0 { // any other begin has a row
			d.canvas.text("sessionname", d.clients[s.Client]-d.outward[s.Client]*bandWidth/2, headHeight-3, s.Name)
		}
		d.close()
	}
}

func (d *diagram) begin(step int64) float64 {
	if step <= 0 {
		return headHeight
	}
	return d.at(step)
}

// lifelines are interrupted while a process is dead or paused.
func (d *diagram) lifelines() {
	for c, x := range d.clients {
		from, class := headHeight-6, "life"
		for i, e := range d.story.Events {
			if e.Client != c || (e.What != "crash" && e.What != "pause") || d.row[i] < 0 {
				continue
			}
			d.line(class, x, from, x, y(d.row[i]))
			from = y(d.row[i])
			if class = "life"; e.Kind == kindFault {
				class = "life stopped"
			}
		}
		d.line(class, x, from, x, d.bottom())
	}
	for _, x := range d.servers {
		d.line("life server", x, headHeight-6, x, d.bottom())
	}
}

// operations are bars on the lifelines, side by side for several users of a session.
func (d *diagram) operations() {
	returned := map[int]int{}
	called := map[int]int{}
	for i, e := range d.story.Events {
		switch {
		case e.Operation < 0 || d.row[i] < 0:
		case e.Kind == kindCall:
			called[e.Operation] = d.row[i]
		case e.Kind == kindReturn:
			returned[e.Operation] = d.row[i]
		}
	}
	for i, o := range d.story.Operations {
		from, known := called[i]
		until, ended := returned[i]
		if !known && !ended {
			continue // before the drawn part
		}
		top, bottom := y(from), d.bottom()-2
		if !known {
			top = headHeight
		}
		if ended {
			bottom = y(until)
		} else if o.Return >= 0 { // in a part of a cycle that is not drawn
			bottom = d.at(o.Return)
		} else if crash := d.story.crash(o.Client, o.Call); crash >= 0 {
			bottom = d.at(crash)
		}
		users := float64(d.story.Clients[o.Client].Users - 1)
		x := d.clients[o.Client] + (float64(o.User)-users/2)*(barWidth+2)
		d.open(o.class(), d.story.tellOperation(o))
		d.rect("bar", x-barWidth/2, top, barWidth, bottom-top, 3)
		d.close()
	}
}

func (o Operation) class() string {
	class := "operation"
	if o.Cited {
		class += " asked"
	}
	if o.Return < 0 {
		class += " open"
	}
	return class
}

// tellOperation describes an operation in one line.
func (s prose) tellOperation(o Operation) string {
	text := fmt.Sprintf("%s %s: %s", s.user(o.Client, o.User), o.label(), o.Outcome)
	if o.Error != "" {
		text += ", " + s.short(o.Error)
	}
	if o.Return < 0 {
		return text + fmt.Sprintf(", called at %d, never returned", o.Call)
	}
	return text + fmt.Sprintf(", from %d to %d", o.Call, o.Return)
}

// label names an operation with its argument and result.
func (o Operation) label() string {
	text := o.call()
	switch {
	case o.Result != "":
		return text + " → " + o.Result
	case o.Outcome == "ok" && operations.Of(o.Name).Result == operations.ItemOrNil:
		return text + " → empty"
	case o.Outcome == "unknown":
		return text + " → ?"
	case o.Outcome == "fail":
		return text + " failed"
	}
	return text
}

// texts writes client events beside the lifelines, and world events across them.
func (d *diagram) texts() {
	for i, e := range d.story.Events {
		switch {
		case d.row[i] < 0:
		case e.Client < 0:
			d.across(e, y(d.row[i]))
		default:
			d.write(e.Client, textClass(e), y(d.row[i]), d.story.wordsOfUser(e), d.story.lineAndCode(e))
		}
	}
	for i, w := range d.story.Waits {
		o := d.story.Operations[w.Operation]
		row := d.waits + d.waiting(o.Client, i)
		d.write(o.Client, "asked", y(row), o.Name+"() waits forever", d.story.tellWait(w))
	}
}

func (d *diagram) write(client int, class string, at float64, text, title string) {
	side := "end "
	if d.outward[client] > 0 {
		side = ""
	}
	d.open("words", title)
	width := d.text - 10
	if class != "plain" && class != "event" {
		width *= boldShare
	}
	d.canvas.text(side+class, d.clients[client]+d.outward[client]*(bandWidth/2+5), at+4, fit(text, width))
	d.close()
}

// across writes a world event over the servers' lanes.
func (d *diagram) across(e Event, at float64) {
	text := fit(d.story.wordsOfUser(e), d.text+2*laneGap)
	x := (d.servers[0] + d.servers[len(d.servers)-1]) / 2
	width := textWidth(text) + 20
	x = min(max(x, width/2), d.width-width/2)
	d.open("words", d.story.marked(e))
	d.rect("world world-"+string(e.Kind), x-width/2, at-9, width, 18, 9)
	d.canvas.text("middle "+textClass(e), x, at+4, text)
	d.close()
}

func textClass(e Event) string {
	switch {
	case e.Kind == kindFault:
		return "fault"
	case e.Kind == kindEnds || e.Kind == kindLearns:
		return "session-end"
	case e.Kind == kindWatch:
		return "event"
	case e.Cited:
		return "asked"
	case e.Kind == kindCall || e.Kind == kindReturn:
		return "call"
	}
	return "plain"
}

// hits are the areas that the pointer can choose: whole steps, and their numbers, which copy the step's link.
func (d *diagram) hits() {
	for i, f := range d.frames {
		if f.Bottom > f.Top {
			d.tag("rect", "", "class", "hit", "data-frame", i, "x", 0.0, "y", f.Top, "width", d.width,
				"height", f.Bottom-f.Top)
			d.open("", fmt.Sprintf("copy the link to step %d", f.Step))
			d.tag("rect", "", "class", "hit number", "data-frame", i, "x", 0.0, "y", f.Top, "width", d.steps+gutterGap/2,
				"height", f.Bottom-f.Top)
			d.close()
		}
	}
}

// lineAndCode is line with the code that sent the request.
func (s prose) lineAndCode(e Event) string {
	if e.Code == "" {
		return s.line(e)
	}
	return s.line(e) + "\n" + e.stack()
}
