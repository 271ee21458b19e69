package story

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"

	"github.com/zktorture/zktorture/linearizability/operations"
)

// The certificate shows the cited operations as bars from call to return, a row for each user, and the other
// operations greyed. Time runs to the right, with one column for each step at which something happened. Below a
// client's bars are its sessions.

// Geometry, in CSS pixels.
const (
	chartWidth = 1180.0
	chartLeft  = 74.0
	chartTop   = 26.0
	axisHeight = 24.0
	labelLine  = 16.0
	labelGap   = 3.0 // of a label and the line of its step
	barHeight  = 18.0
	stripGap   = 4.0
	strip      = 6.0
	rowGap     = 12.0
	tickGap    = 34.0 // least distance of numbers
)

// chartColumns is the most characters of a label's line.
const chartColumns = 130

// chartRows bounds the rows. Rows without a cited operation are dropped first.
const chartRows = 8

type certificate struct {
	canvas
	story  prose
	frames []frame
	rows   []chartRow
	height float64
}

// chartRow is the operations of one user, none of which overlap.
type chartRow struct {
	client, user int
	operations   []int // by call
	cited        bool
	sessions     bool // below it
	labels       []chartLabel
	top          float64 // of the bars
}

type chartLabel struct {
	operation, line int
	x               float64
	text            string
}

func newCertificate(s prose, frames []frame) *certificate {
	c := &certificate{story: s, frames: frames}
	for i := range frames {
		frames[i].X = chartLeft + (float64(i)+0.5)*(chartWidth-chartLeft)/float64(len(frames))
	}
	c.layRows()
	c.layHeights()
	return c
}

// layRows puts each operation into the first row of its user with room.
func (c *certificate) layRows() {
	for i, o := range c.story.Operations {
		if len(c.frames) == 0 || !o.Cited && (o.Return >= 0 && o.Return < c.frames[0].Step || o.Call > c.frames[len(c.frames)-1].Step) {
			continue
		}
		at := slices.IndexFunc(c.rows,
			func(r chartRow) bool { return r.client == o.Client && r.user == o.User && c.room(r, o) })
		if at < 0 {
			at = len(c.rows)
			c.rows = append(c.rows, chartRow{client: o.Client, user: o.User})
		}
		c.rows[at].operations = append(c.rows[at].operations, i)
		c.rows[at].cited = c.rows[at].cited || o.Cited
	}
	slices.SortStableFunc(c.rows, func(a, b chartRow) int {
		return cmp.Or(cmp.Compare(a.client, b.client), cmp.Compare(a.user, b.user))
	})
	for len(c.rows) > chartRows {
		i := slices.IndexFunc(c.rows, func(r chartRow) bool { return !r.cited })
		c.rows = slices.Delete(c.rows, max(i, 0), max(i, 0)+1)
	}
}

func (c *certificate) room(r chartRow, o Operation) bool {
	last := c.story.Operations[r.operations[len(r.operations)-1]]
	return last.Return >= 0 && last.Return <= o.Call || c.end(last) <= c.x(o.Call) && o.Call > last.Call
}

func (c *certificate) layHeights() {
	at := chartTop
	for i := range c.rows {
		r := &c.rows[i]
		c.layLabels(r)
		lines := 0
		for _, l := range r.labels {
			lines = max(lines, l.line+1)
		}
		r.sessions = i+1 == len(c.rows) || c.rows[i+1].client != r.client
		r.top = at + float64(lines)*labelLine
		at = r.top + barHeight + rowGap
		if r.sessions && len(c.story.Sessions) > 0 {
			at += stripGap + strip
		}
	}
	c.height = at
}

// layLabels puts the labels above the bars, those of cited operations first, on as many lines as they need. Other labels
// have one line, and are left out if it has no room for them.
func (c *certificate) layLabels(r *chartRow) {
	lines := [][][2]float64{nil} // what is taken, from the lowest line up
	for _, asked := range []bool{true, false} {
		for _, i := range r.operations {
			o := c.story.Operations[i]
			if o.Cited != asked {
				continue
			}
			broken := breakLines(c.story.short(o.label()), chartColumns, "", "")
			for _, text := range slices.Backward(broken) {
				width := boldWidth(text)
				x := max(chartLeft, min(c.x(o.Call), chartWidth-width-labelGap))
				line := slices.IndexFunc(lines, func(taken [][2]float64) bool { return free(taken, x, x+width) })
				if !asked && (line != 0 || len(broken) > 1) {
					break
				}
				if line < 0 {
					line, lines = len(lines), append(lines, nil)
				}
				lines[line] = append(lines[line], [2]float64{x, x + width + glyphWidth})
				r.labels = append(r.labels, chartLabel{i, line, x, text})
			}
		}
	}
}

func free(taken [][2]float64, from, until float64) bool {
	return !slices.ContainsFunc(taken, func(t [2]float64) bool { return from < t[1] && t[0] < until })
}

// x is the position of a step or stamp.
func (c *certificate) x(step int64) float64 {
	switch {
	case step < 0:
		return chartWidth
	case step < c.frames[0].Step:
		return chartLeft
	}
	return c.frames[frameFrom(c.frames, step)].X
}

// end is the end of an operation; of one that never returned, its client's crash, or the end of the picture.
func (c *certificate) end(o Operation) float64 {
	if o.Return >= 0 {
		return c.x(o.Return)
	}
	return c.x(c.story.crash(o.Client, o.Call))
}

func (c *certificate) draw() template.HTML {
	if len(c.frames) == 0 {
		return ""
	}
	c.axis()
	for _, r := range c.rows {
		c.row(r)
	}
	c.faults()
	c.line("cursor", 0, chartTop-6, 0, c.height)
	c.tag("rect", "", "class", "scrub", "x", chartLeft, "y", 0.0, "width", chartWidth-chartLeft,
		"height", c.height+axisHeight)
	label := "The operations involved as bars over time: " + clip(c.story.short(c.story.Message), fieldMax)
	return c.svg("certificate", label, chartWidth, c.height+axisHeight)
}

// axis numbers the steps where there is room, and marks the pivotal one.
func (c *certificate) axis() {
	last := -tickGap
	for _, f := range c.frames {
		text := c.tick(f)
		if f.Pivot {
			c.line("pivotline", f.X, chartTop-6, f.X, c.height)
			c.canvas.text("pivotal middle", max(chartLeft+50, min(f.X, chartWidth-50)), chartTop-12,
				"pivotal step "+text)
		}
		if width := max(tickGap, textWidth(text)+10); f.X-last >= width && f.X+textWidth(text)/2 <= chartWidth {
			c.line("rule", f.X, chartTop-6, f.X, c.height)
			c.canvas.text("step middle", f.X, c.height+15, text)
			last = f.X
		}
	}
	unit := "step"
	if c.story.Clock == clockStamps {
		unit = "stamp"
	}
	c.canvas.text("head", 0, c.height+15, unit)
}

// tick names a frame on the axis.
func (c *certificate) tick(f frame) string {
	if c.story.Clock == clockStamps {
		return tick(c.frames, f.Step)
	}
	return strconv.FormatInt(f.Step, 10)
}

func (c *certificate) row(r chartRow) {
	name := c.story.Clients[r.client].Name
	if c.story.Clients[r.client].Users > 1 {
		name += " u" + strconv.Itoa(r.user+1)
	}
	c.canvas.text("head", 0, r.top+barHeight/2+5, name)
	if r.sessions {
		c.sessions(r.client, r.top+barHeight+stripGap)
	}
	for _, i := range r.operations {
		c.bar(i, r.top)
	}
	for _, l := range r.labels {
		class := "plain"
		if c.story.Operations[l.operation].Cited {
			class = "asked"
		}
		c.canvas.text(class, l.x+labelGap, r.top-5-float64(l.line)*labelLine, l.text)
	}
}

func (c *certificate) bar(i int, top float64) {
	o := c.story.Operations[i]
	from, until := c.x(o.Call), c.end(o)
	c.open(o.class(), c.story.tellOperation(o))
	c.rect("bar", from, top, max(until-from-1, 4), barHeight, 3)
	if held := c.held(i); held > until {
		class := "held"
		if !o.Cited {
			class = "held faint"
		}
		c.rect(class, until, top+barHeight/4, held-until, barHeight/2, 0)
	}
	c.close()
}

// grants reports whether an operation granted its client a hold.
func (o Operation) grants() bool {
	kind := operations.Of(o.Name)
	return kind.Back != "" && o.Outcome == "ok" &&
		!(kind.Tries && slices.Contains([]string{"", "0", "false", "null"}, o.Result))
}

// held is the end of an operation's hold: its release, the client's crash, or the step where the client learns that
// its session is gone; 0 if nothing was granted.
func (c *certificate) held(i int) float64 {
	o := c.story.Operations[i]
	if !o.grants() {
		return 0
	}
	until := c.x(c.story.crash(o.Client, o.Return))
	for _, later := range c.story.Operations {
		if later.Client == o.Client && later.User == o.User && later.Call >= o.Return &&
			later.Name == operations.Of(o.Name).Back {
			until = min(until, c.x(later.Call))
		}
	}
	for _, s := range c.story.Sessions {
		if s.Client == o.Client && s.Learned >= o.Return {
			until = min(until, c.x(s.Learned))
		}
	}
	return until
}

// sessions draws a client's sessions below its bars.
func (c *certificate) sessions(client int, top float64) {
	for _, s := range c.story.Sessions {
		if s.Client != client {
			continue
		}
		c.open("session", c.story.tellSession(s))
		for _, span := range c.story.spans(s) {
			from, until := c.begin(span.from), c.x(span.until)
			c.rect(span.class, from, top, until-from, strip, 2)
		}
		c.close()
	}
}

func (c *certificate) begin(step int64) float64 {
	if step <= 0 {
		return chartLeft
	}
	return c.x(step)
}

// faults marks the faults: in the row of the client, or below all.
func (c *certificate) faults() {
	for _, e := range c.story.Events {
		if e.Kind != kindFault {
			continue
		}
		at := c.height - 7
		for _, r := range c.rows {
			if r.client == e.Client && r.sessions {
				at = r.top + barHeight/2
			}
		}
		c.open("strike", fmt.Sprintf("step %d: %s", e.Step, c.story.line(e)))
		c.bolt(c.x(e.Step), at)
		c.close()
	}
}
