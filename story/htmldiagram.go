package story

import (
	"fmt"
	"html/template"
	"strconv"

	"github.com/zktorture/zktorture/linearizability/operations"
)

// The space-time diagram, after Lamport ("Time, Clocks, and the Ordering of Events in a Distributed System", 1978):
// time runs down, each server and each client has a line, messages are arrows. Servers stand first, then the clients,
// side by side; what happens is told to the right of all lines, so that no arrow crosses a text.
//
// A row is an event. A request starts at the row that sent it: a long arrow is a decision that was outdated on arrival.

// Geometry, in CSS pixels.
const (
	rowHeight   = 24.0
	lineHeight  = 15.0 // of further lines of a row's text
	headHeight  = 48.0
	footHeight  = 14.0
	gutterGap   = 16.0 // beside steps and times
	edgeGap     = 12.0 // left of the servers
	serverGap   = 20.0
	laneGap     = 36.0 // right of the servers
	clientGap   = 32.0
	bandWidth   = 20.0 // of a session
	barWidth    = 8.0  // of an operation
	curveWidth  = 104.0
	curveMargin = 26.0
)

// textColumns is the width of texts in characters. With many lanes they and the texts are narrower: they fit a telephone.
const textColumns = 38

type diagram struct {
	canvas
	story   prose
	frames  []frame
	row     []int      // of each event, -1 if it is not drawn
	lines   [][]string // the text of each row; operations that wait for ever have the last ones
	tops    []float64  // of each row, and the end of the last
	clients []float64  // x of each lifeline
	servers []float64
	names   float64 // x of the clients' names
	texts   float64 // and of the texts
	steps   float64 // right edge of the steps
	times   float64 // and of the times
	curve   float64 // x of the curve
	width   float64
	crowd   int // clients after the second, and servers after the first, at most 4
}

func newDiagram(s prose, frames []frame) *diagram {
	d := &diagram{story: s, frames: frames, tops: []float64{headHeight}, crowd: min(4, max(0, len(s.Clients)+max(s.Servers, 1)-3))}
	d.layRows()
	d.layLanes()
	d.layFrames()
	return d
}

// layRows assigns a row to each event, and to each operation that waits for ever.
func (d *diagram) layRows() {
	for i, e := range d.story.Events {
		d.row = append(d.row, -1)
		if !d.story.silent(i) {
			d.row[i] = len(d.lines)
			d.layRow(d.story.wordsOfUser(e))
		}
	}
	for _, w := range d.story.Waits {
		d.layRow(d.story.Operations[w.Operation].Name + "() waits forever")
	}
}

func (d *diagram) layRow(text string) {
	lines := breakLines(text, textColumns-3*d.crowd, "", "")
	d.lines = append(d.lines, lines)
	d.tops = append(d.tops, d.bottom()+rowHeight+float64(len(lines)-1)*lineHeight)
}

// layLanes puts the clients right of the servers, and the texts right of them.
func (d *diagram) layLanes() {
	d.layGutter()
	x, name, text := d.times+edgeGap, 0.0, 0.0
	for i := range max(d.story.Servers, 1) {
		d.servers = append(d.servers, x+float64(i)*serverGap)
	}
	x = d.servers[len(d.servers)-1] + laneGap
	gap := clientGap - 3*float64(d.crowd)
	for i, c := range d.story.Clients {
		d.clients = append(d.clients, x+float64(i)*gap)
		name = max(name, boldWidth(c.Name))
	}
	d.names = x + float64(len(d.clients)-1)*gap + bandWidth
	d.texts = d.names + name + gutterGap/2
	for _, lines := range d.lines {
		text = max(text, widest(lines))
	}
	d.width = d.texts + text + gutterGap
	if d.story.Pivot != nil && d.story.Pivot.Step > 0 { // else the curve is flat
		d.curve = d.width
		d.width += curveWidth + curveMargin + boldWidth("0 → 100 %")
	}
}

// layGutter makes room for the longest step, and for the longest time if time moves.
func (d *diagram) layGutter() {
	step, time := boldWidth("step"), 0.0
	for _, f := range d.frames {
		step = max(step, textWidth(strconv.FormatInt(f.Step, 10)))
		if f.Time != d.frames[0].Time {
			time = max(time, gutterGap+textWidth(f.Time))
		}
	}
	d.steps = step + gutterGap/2
	d.times = d.steps + time
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
			d.frames[i].Top, end = d.tops[first[i]], d.tops[last[i]+1]
			d.frames[i].Bottom = end
		}
	}
}

// y is the middle of a row's first line.
func (d *diagram) y(row int) float64 { return d.tops[row] + rowHeight/2 }

func (d *diagram) bottom() float64 { return d.tops[len(d.tops)-1] }

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
	d.drawSessions()
	d.lifelines()
	d.operations()
	d.arrows()
	d.tell()
	d.hits()
	d.heads()
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
	before := ""
	for _, f := range d.frames {
		if f.Bottom == f.Top {
			continue
		}
		middle := f.Top + rowHeight/2 + 4
		d.line("rule", 0, f.Top, d.width, f.Top)
		d.canvas.text("step", d.steps, middle, strconv.FormatInt(f.Step, 10))
		if f.Time != before && d.times > d.steps {
			d.canvas.text("time", d.times, middle, f.Time)
			before = f.Time
		}
	}
}

// heads are of the columns. They stay in the window while the page is scrolled.
func (d *diagram) heads() {
	d.open("heads", "")
	defer d.close()
	d.rect("ground", 0, 0, d.width, headHeight, 0)
	d.canvas.text("head end", d.steps, headHeight-14, "step")
	if d.times > d.steps {
		d.canvas.text("head end", d.times, headHeight-14, "time")
	}
	for i, c := range d.story.Clients {
		d.canvas.text("head column", d.clients[i], headHeight-20, c.Name)
	}
	for _, s := range d.story.Sessions {
		if s.Begin <= 0 { // any other begin has a row
			d.canvas.text("sessionname", d.clients[s.Client], headHeight-7, s.Name)
		}
	}
	d.canvas.text("head", d.servers[0]-edgeGap/2, headHeight-35, "ZooKeeper")
	for i, x := range d.servers {
		if len(d.servers) > 1 {
			d.canvas.text("head column", x, headHeight-7, strconv.Itoa(i))
		}
	}
	if d.curve > 0 {
		d.canvas.text("head", d.curve, headHeight-28, "chance of the bug")
		d.canvas.text("head", d.curve, headHeight-12, "0")
		d.canvas.text("head end", d.curve+curveWidth, headHeight-12, "100 %")
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
		from, class := headHeight, "life"
		for i, e := range d.story.Events {
			if e.Client != c || (e.What != "crash" && e.What != "pause") || d.row[i] < 0 {
				continue
			}
			d.line(class, x, from, x, d.y(d.row[i]))
			from = d.y(d.row[i])
			if class = "life"; e.Kind == kindFault {
				class = "life stopped"
			}
		}
		d.line(class, x, from, x, d.bottom())
	}
	for _, x := range d.servers {
		d.line("life server", x, headHeight, x, d.bottom())
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
		top, bottom := d.y(from), d.bottom()-2
		if !known {
			top = headHeight
		}
		if ended {
			bottom = d.y(until)
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

// tell writes the text of each row, behind the name of its client. Events of the world have a frame.
func (d *diagram) tell() {
	for i, e := range d.story.Events {
		switch {
		case d.row[i] < 0:
		case e.Client < 0:
			top, end := d.tops[d.row[i]], d.tops[d.row[i]+1]
			d.open("words", d.story.marked(e))
			d.rect("world world-"+string(e.Kind), d.names-gutterGap/2, top+3, d.texts+widest(d.lines[d.row[i]])-d.names+gutterGap, end-top-6, 9)
			d.write(d.row[i], textClass(e), "")
		default:
			d.open("words", d.story.lineAndCode(e))
			d.write(d.row[i], textClass(e), d.story.Clients[e.Client].Name)
		}
	}
	for i, w := range d.story.Waits {
		d.open("words", d.story.tellWait(w))
		d.write(len(d.lines)-len(d.story.Waits)+i, "asked", d.story.Clients[d.story.Operations[w.Operation].Client].Name)
	}
}

// write writes the text of a row into the open group, and closes it.
func (d *diagram) write(row int, class, name string) {
	at := d.y(row) + 4
	d.canvas.text(class, d.names, at, name)
	for i, line := range d.lines[row] {
		d.canvas.text(class, d.texts, at+float64(i)*lineHeight, line)
	}
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
