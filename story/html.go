package story

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/internal/escape"
)

// The page of a story is one file. The diagram is drawn here, as SVG, so it needs no script; the script only moves
// the cursor and shows the tree of znodes at that step. Its data are in the page as JSON. The page loads nothing.

//go:embed page/page.html page/page.css page/page.js
var assets embed.FS

var pageTemplate = template.Must(template.ParseFS(assets, "page/page.html"))

// pageMax bounds a page, in bytes: it opens at once, and can be attached to a report.
const pageMax = 400 << 10

// page is the data of the template.
type page struct {
	prose
	frames  []frame // none of a recorded history
	Style   template.CSS
	Script  template.JS
	Scripts string        // hashes of the allowed scripts
	Diagram template.HTML // empty for a recorded history
	Folded  template.HTML // the diagram without uneventful stretches; empty if there are none
}

// Sentence is the message with short names of sessions and znodes.
func (p page) Sentence() string { return p.short(p.Message) }

// mark is an entry of the legend.
type mark struct{ Class, Text string }

// HTML writes the story as one self-contained page of at most 400 KB. A run that is too long to draw keeps its end. The
// error is that of w, or says that the story does not fit.
func (s *Story) HTML(w io.Writer) error {
	var out strings.Builder
	for events := eventsMax; events == eventsMax || out.Len() > pageMax && events >= eventsMin; events /= 2 {
		out.Reset()
		if err := pageTemplate.Execute(&out, newPage(prose{s.clipped(events)})); err != nil {
			return fmt.Errorf("story: the page: %w", err)
		}
	}
	if out.Len() > pageMax {
		return fmt.Errorf("story: the page would have %d KB, and %d KB is the most: "+
			"tell the story of a minimised counterexample, or see it with torture replay", out.Len()>>10, pageMax>>10)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func newPage(s prose) page {
	script := asset("page.js")
	p := page{prose: s, frames: []frame{}, Style: template.CSS(asset("page.css")), Script: template.JS(script),
		Scripts: escape.Script(script)}
	if p.Clock == clockSteps {
		p.frames = s.frames()
		p.Diagram = newDiagram(s, p.frames).draw("diagram")
		p.Folded = p.drawFolded()
	}
	return p
}

// Code is the code of the requests of the cause.
func (p page) Code() []spot { return p.spots() }

// Text is the story as text, which the page has besides.
func (p page) Text() string { return clip(p.Story.Text(TextOptions{}), textMax) }

func asset(name string) string {
	data, err := assets.ReadFile("page/" + name)
	if err != nil {
		panic(err) // embedded at compile time
	}
	return string(data)
}

// foldedFrom is the number of steps from which a diagram is folded at first.
const foldedFrom = 60

// drawFolded draws the diagram without uneventful stretches, and gives the frames their positions in it.
func (p page) drawFolded() template.HTML {
	stretches := p.stretches()
	if len(stretches) == 0 {
		return ""
	}
	d := newDiagram(prose{p.folded(stretches)}, slices.Clone(p.frames))
	picture := d.draw("folded")
	for _, stretch := range stretches {
		first, _ := frameAt(p.frames, p.Events[stretch.from].Step)
		last, _ := frameAt(p.frames, p.Events[stretch.until-1].Step)
		for i := first; i < last; i++ {
			if d.frames[i].Top == d.frames[i].Bottom {
				d.frames[i].Top, d.frames[i].Bottom = d.frames[last].Top, d.frames[last].Bottom
			}
		}
	}
	for i := range p.frames {
		p.frames[i].FoldedTop, p.frames[i].FoldedBottom = d.frames[i].Top, d.frames[i].Bottom
	}
	return picture
}

// Bounds of a page. A minimised story has a tenth of each.
const (
	eventsMax  = 400
	eventsMin  = 25 // if they are long
	znodesMax  = 400
	messageMax = 4 << 10  // bytes
	fieldMax   = 1 << 8   // bytes of one path or result
	textMax    = 64 << 10 // bytes of the story as text
)

// clipped returns the story cut to the bounds. It keeps what leads to the end of the cited operations, or to that of the
// run if something waits for ever, and the cited znodes.
func (s *Story) clipped(events int) *Story {
	t := *s.Folded()
	t.Title, t.Message, t.Note = clip(t.Title, messageMax), clip(t.Message, messageMax), clip(t.Note, messageMax)
	t.Events = append([]Event(nil), t.Events...)
	for i := range t.Events {
		e := &t.Events[i]
		for _, text := range []*string{&e.What, &e.Path, &e.Result, &e.Made, &e.Answer} {
			*text = clip(*text, fieldMax)
		}
	}
	if all := len(t.Events); all > events {
		until := all
		for i, e := range t.Events {
			if len(s.Waits) == 0 && e.Operation >= 0 && s.Operations[e.Operation].Cited {
				until = max(events, i+1)
			}
		}
		gone := until - events
		t.Events, t.Note = t.Events[gone:until], strings.TrimSpace(fmt.Sprintf("%s The diagram shows %d of %d events.", t.Note, events, all))
		for i := range t.Events {
			e := &t.Events[i]
			e.From, e.Armed = max(-1, e.From-gone), max(-1, e.Armed-gone)
		}
		if s.Cause != nil {
			cause := *t.Cause
			cause.Read, cause.Event, t.Cause = max(-1, cause.Read-gone), max(-1, cause.Event-gone), &cause
		}
	}
	t.Znodes = clippedZnodes(s.Znodes)
	return &t
}

// clippedZnodes drops uncited znodes if there are too many.
func clippedZnodes(znodes []Znode) []Znode {
	spare := len(znodes) - znodesMax
	if spare <= 0 {
		return znodes
	}
	return slices.DeleteFunc(slices.Clone(znodes), func(z Znode) bool {
		if z.Cited || spare == 0 {
			return false
		}
		spare--
		return true
	})
}

// clip cuts a text to n bytes, between two characters.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// toldOperation is a row of the table that a recorded history has instead of a diagram.
type toldOperation struct {
	Operation
	Who, Label, Until string
}

// Rows are the rows of that table.
func (p page) Rows() (told []toldOperation) {
	for _, o := range p.Operations[:min(len(p.Operations), eventsMax)] {
		until := "never"
		if o.Return >= 0 {
			until = fmt.Sprint(o.Return)
		}
		told = append(told, toldOperation{o, p.user(o.Client, o.User), clip(p.short(o.label()), fieldMax), until})
	}
	return told
}

// Tell describes a session.
func (p page) Tell(session Session) string { return p.tellSession(session) }

// toldWait is a wait as a chain: the operation, the znode it waits for, and the znode's owner.
type toldWait struct {
	Who  string
	For  []toldAwaited
	Text string
}

type toldAwaited struct{ Znode, Owner string }

// Waiting are the chains of the story's waits.
func (p page) Waiting() (told []toldWait) {
	for _, w := range p.Waits {
		o := p.Operations[w.Operation]
		t := toldWait{Who: fmt.Sprintf("%s %s since step %d", p.user(o.Client, o.User), o.call(), o.Call),
			Text: p.tellWait(w)}
		for _, a := range w.For {
			t.For = append(t.For, toldAwaited{p.short(a.Path), p.toldOwner(a)})
		}
		told = append(told, t)
	}
	return told
}

// Besides reports whether operations wait for ever, and the message is of something else.
func (p page) Besides() bool {
	return len(p.Waits) > 0 && !strings.Contains(p.Message, "waits forever")
}

func (p page) toldOwner(a Awaited) string {
	switch {
	case !a.Exists:
		return "to be created" + p.lastEnd(a.Path)
	case a.Owner < 0:
		return "to change"
	}
	return p.tellOwner(p.Sessions[a.Owner])
}

// Marks lists the marks that the diagram of this story uses.
func (p page) Marks() []mark {
	marks := []mark{{"asked", "involved"}}
	if len(p.Sessions) > 0 {
		marks = append(marks, mark{"alive", "session"})
	}
	spans := map[string]bool{}
	for _, session := range p.Sessions {
		for _, part := range p.spans(session) {
			spans[part.class] = true
		}
	}
	if spans["orphan"] {
		marks = append(marks, mark{"orphan", "session of a crashed process"})
	}
	if spans["unaware"] {
		marks = append(marks, mark{"unaware", "expired session whose client does not know"})
	}
	if p.has(kindWatch) {
		marks = append(marks, mark{"event", "watch event"})
	}
	if p.has(kindFault) {
		marks = append(marks, mark{"struck", "fault, or lost message"})
	}
	return marks
}

func (s *Story) has(k Kind) bool {
	return slices.ContainsFunc(s.Events, func(e Event) bool { return e.Kind == k })
}

// pageData is the data of the script.
type pageData struct {
	Frames []frame     `json:"frames"`
	Start  int         `json:"start"` // initial frame
	Pivot  int         `json:"pivot"` // -1: none
	Fold   bool        `json:"fold"`  // whether the diagram is folded at first
	Znodes []pageZnode `json:"znodes"`
}

// pageZnode is a znode in the tree.
type pageZnode struct {
	Path  string     `json:"path"`
	Name  string     `json:"name"`
	Depth int        `json:"depth"`
	Cited bool       `json:"asked"`
	Lives []pageLife `json:"lives"`
}

// pageLife is a [Life] in words.
type pageLife struct {
	From  int64    `json:"from"`
	Until int64    `json:"until"`
	Owner string   `json:"owner"` // the session's name and client, or empty
	Ended int64    `json:"ended"` // step of the owner's end, -1 if it lives
	Maker string   `json:"maker"`
	End   string   `json:"end"` // why it was deleted
	Sets  []int64  `json:"sets"`
	Data  []string `json:"data"`
}

// Data returns the data of the script as JSON.
func (p page) Data() (template.JS, error) {
	d := pageData{Frames: p.frames, Fold: len(p.frames) > foldedFrom, Znodes: []pageZnode{}}
	d.Pivot = slices.IndexFunc(p.frames, func(f frame) bool { return f.Pivot })
	if d.Start = len(p.frames) - 1; p.Cause.shows() {
		d.Start = frameFrom(p.frames, p.Cause.To)
	}
	for _, z := range p.Znodes {
		d.Znodes = append(d.Znodes, p.znode(z))
	}
	text, err := json.Marshal(d) // escapes <, > and &, so that no text can end the script
	return template.JS(text), err
}

func (p page) znode(z Znode) pageZnode {
	told := pageZnode{Path: z.Path, Name: z.Name, Depth: strings.Count(strings.TrimSuffix(z.Path, "/"), "/") - 1,
		Cited: z.Cited, Lives: []pageLife{}}
	for _, l := range z.Lives {
		life := pageLife{From: l.From, Until: l.Until, Ended: -1, Maker: p.doneBy("created by", l.Maker),
			End: p.tellEnd(l), Sets: append([]int64{}, l.Sets...), Data: append([]string{}, l.Data...)}
		if l.Owner >= 0 {
			owner := p.Sessions[l.Owner]
			life.Owner, life.Ended = owner.Name+" of "+p.Clients[owner.Client].Name, owner.End
		}
		told.Lives = append(told.Lives, life)
	}
	return told
}
