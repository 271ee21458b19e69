package story

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/escape"
)

// TextOptions are the options of the text.
type TextOptions struct {
	Width int  // columns; 0: [WidthDefault]; less than [WidthMin]: that
	Color bool // for a terminal
	Brief bool // what is read first: no lists of sessions, znodes and waits, and no pivotal step
}

// Widths of texts in columns.
const (
	WidthDefault = 100
	WidthMin     = 60
)

// style is an emphasis on a terminal.
type style string

const (
	plain  style = ""
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	yellow style = "33"
)

// paint emphasises a text with the escape sequences of ECMA-48, SGR.
func paint(color bool, s style, text string) string {
	if !color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Text tells the story for a terminal or a log: the sentence; a table of events; why, with the line of code that decides,
// and what helps; the sessions, the cited znodes, what waits for what, the pivotal step; the commands. Lines fit the
// width, except for commands, which must not be broken, and code.
func (s *Story) Text(o TextOptions) string {
	if o.Width == 0 {
		o.Width = WidthDefault
	}
	o.Width = max(o.Width, WidthMin)
	w := &writer{prose: prose{s.Folded()}, o: o}
	title, stack, _ := strings.Cut(s.Title, "\n")
	w.paragraph(bold, w.short(title))
	for line := range strings.Lines(stack) {
		w.item(line)
	}
	if s.Note != "" {
		w.paragraph(yellow, s.Note)
	}
	w.blank()
	w.out.WriteString(newTable(w.prose, o).String())
	if s.Left > 0 {
		w.item(fmt.Sprintf("not shown: %d more of the history's operations", s.Left))
	}
	w.cause()
	w.help()
	if !o.Brief {
		w.sessions()
		w.znodes()
		w.waits()
		w.pivot()
		w.code()
	}
	w.commands()
	return w.out.String()
}

// writer prints sections.
type writer struct {
	prose
	o   TextOptions
	out strings.Builder
}

func (w *writer) blank() { w.out.WriteByte('\n') }

func (w *writer) paragraph(s style, text string) {
	for _, line := range breakLines(text, w.o.Width, "", "") {
		w.out.WriteString(paint(w.o.Color, s, line) + "\n")
	}
}

func (w *writer) section(title string) {
	w.blank()
	w.paragraph(bold, title)
}

// item prints a text below a section's title.
func (w *writer) item(text string) {
	for _, line := range breakLines(text, w.o.Width, "  ", "    ") {
		w.out.WriteString(line + "\n")
	}
}

// cause says why, and shows the code that decides.
func (w *writer) cause() {
	c := w.Cause
	if c == nil {
		return
	}
	if c.Text != "" {
		w.blank()
		w.about("why", c.Text)
	}
	for _, z := range w.spots() {
		w.blank()
		for i := range z.Frames {
			by := z.Title
			if i > 0 {
				by = "by"
			}
			w.source(by, &z.Frames[i])
		}
	}
}

// about prints a text behind a word that says what it is.
func (w *writer) about(word, text string) {
	for i, line := range breakLines(text, w.o.Width, word+": ", "     ") {
		if i == 0 {
			line = paint(w.o.Color, bold, word+":") + strings.TrimPrefix(line, word+":")
		}
		w.out.WriteString(line + "\n")
	}
}

// source prints the line that is meant, with the call marked.
func (w *writer) source(title string, s *Source) {
	w.item(title + ": " + s.Where())
	indent := s.indent(s.Marked, s.Marked+1)
	digits := len(strconv.Itoa(s.First + s.Marked))
	room := w.o.Width - digits - 5
	indent = max(indent, s.Until-room)
	line := []rune(escape.Text(s.Lines[s.Marked]))
	line = line[min(indent, len(line)):]
	w.put(fmt.Sprintf("  %*d | %s", digits, s.First+s.Marked, string(line[:min(room, len(line))])))
	mark := strings.Repeat(" ", max(0, s.From-indent)) + paint(w.o.Color, red, strings.Repeat("^", max(1, s.Until-s.From)))
	w.put(fmt.Sprintf("  %*s | %s", digits, "", mark))
}

func (w *writer) put(line string) { w.out.WriteString(strings.TrimRight(line, " ") + "\n") }

// help says what to do.
func (w *writer) help() {
	if w.Help == nil {
		return
	}
	w.blank()
	w.about("help", w.Help.Text)
	if w.Help.Page != "" {
		w.out.WriteString("      " + w.Help.Link() + "\n")
	}
}

func (w *writer) sessions() {
	if len(w.Sessions) == 0 {
		return
	}
	w.section("sessions")
	for _, session := range w.Sessions {
		w.item(w.tellSession(session))
	}
}

func (s prose) tellSession(session Session) string {
	who := s.Clients[session.Client].Name
	text := fmt.Sprintf("%s = %s, client %s, open from step %d", session.Name, session.ID, who, session.Begin)
	switch {
	case session.End < 0:
		return text + ", never ends"
	case !session.Expired:
		return text + fmt.Sprintf(", closed by its client at step %d", session.End)
	}
	text += fmt.Sprintf(", expires at the servers at step %d", session.End)
	if session.Learned < 0 {
		return text + "; " + who + " never learns that"
	}
	return text + fmt.Sprintf("; %s learns that at step %d", who, session.Learned)
}

func (w *writer) znodes() {
	asked := 0
	for _, z := range w.Znodes {
		if !z.Cited {
			continue
		}
		if asked++; asked == 1 {
			w.section("znodes involved")
		}
		w.item(z.Name + " = " + z.Path)
		if len(z.Lives) == 0 {
			w.item("- it never exists")
		}
		for _, l := range z.Lives {
			w.item("- " + w.tellLife(l))
		}
	}
}

func (s prose) tellLife(l Life) string {
	text := fmt.Sprintf("step %d: %s", l.From, s.doneBy("created by", l.Maker))
	if l.Maker < 0 {
		text = fmt.Sprintf("step %d: created by the world", l.From)
	}
	if l.Owner >= 0 {
		text += fmt.Sprintf(" (ephemeral, %s)", s.Sessions[l.Owner].Name)
	}
	if n := len(l.Sets); n > 0 {
		text += fmt.Sprintf("; set %s, last at step %d", times(n), l.Sets[n-1])
	}
	return text + "; " + s.tellEnd(l)
}

func (s prose) tellEnd(l Life) string {
	switch {
	case l.Until < 0:
		return "never deleted"
	case l.Expired:
		return fmt.Sprintf("step %d: deleted with its session", l.Until)
	case l.Remover < 0:
		return fmt.Sprintf("step %d: deleted", l.Until)
	}
	return fmt.Sprintf("step %d: %s", l.Until, s.doneBy("deleted by", l.Remover))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// doneBy names the operation that did something.
func (s prose) doneBy(done string, operation int) string {
	if operation < 0 {
		return done + " nobody"
	}
	o := s.Operations[operation]
	return fmt.Sprintf("%s %s's %s", done, s.user(o.Client, o.User), o.Name)
}

func (w *writer) waits() {
	if len(w.Waits) == 0 {
		return
	}
	w.section("stuck: who waits for what, with all faults healed")
	for _, wait := range w.Waits {
		w.item(w.tellWait(wait))
	}
}

func (s prose) tellWait(wait Wait) string {
	o := s.Operations[wait.Operation]
	text := fmt.Sprintf("%s in %s since step %d", s.user(o.Client, o.User), o.call(), o.Call)
	if wait.Session >= 0 {
		text += ", session " + s.Sessions[wait.Session].Name
	}
	if len(wait.For) == 0 {
		return text + ": no watch is armed that could wake it"
	}
	var parts []string
	for _, a := range wait.For {
		parts = append(parts, s.tellAwaited(a))
	}
	return text + ": for " + strings.Join(parts, "; for ")
}

func (s prose) tellAwaited(a Awaited) string {
	name := s.short(a.Path)
	switch {
	case !a.Exists:
		return name + " to be created" + s.lastEnd(a.Path)
	case a.Kind == string(fakezk.WatchChild):
		return "the children of " + name + " to change"
	case a.Owner < 0:
		return name + " to change"
	}
	return name + " to be deleted, which belongs to " + s.tellOwner(s.Sessions[a.Owner])
}

// tellOwner names a session and its client, and says whether it lives.
func (s prose) tellOwner(owner Session) string {
	text := owner.Name + " of " + s.Clients[owner.Client].Name
	if owner.End >= 0 {
		return text + fmt.Sprintf(" (ended at step %d)", owner.End)
	}
	return text + " (alive)"
}

// lastEnd says when a deleted znode was deleted last.
func (s prose) lastEnd(path string) string {
	for _, z := range s.Znodes {
		if z.Path == path && len(z.Lives) > 0 {
			return fmt.Sprintf(" (deleted at step %d)", z.Lives[len(z.Lives)-1].Until)
		}
	}
	return ""
}

func (w *writer) pivot() {
	if w.Pivot == nil {
		return
	}
	w.section("pivotal step")
	w.item(w.Pivot.Text)
	if w.Pivot.Step > 0 {
		w.item(fmt.Sprintf("from step 0 to %d: %s", w.Curve[len(w.Curve)-1].Step, w.sparkline(w.o.Width-24)))
	}
}

// code lists the lines of code that sent requests, each with its steps: in the table they would leave no room.
func (w *writer) code() {
	steps := map[string][]string{}
	for _, e := range w.Events {
		if at := fmt.Sprint(e.Step); e.Code != "" && !slices.Contains(steps[e.Code], at) {
			steps[e.Code] = append(steps[e.Code], at)
		}
	}
	if len(steps) == 0 {
		return
	}
	w.section("code that sent the requests, by step")
	for _, code := range slices.SortedFunc(maps.Keys(steps), byLine) {
		w.item(code + ": " + strings.Join(steps[code], " "))
	}
}

// byLine orders lines of code by file and number.
func byLine(a, b string) int {
	fileA, lineA, _ := strings.Cut(a, ":")
	fileB, lineB, _ := strings.Cut(b, ":")
	return cmp.Or(cmp.Compare(fileA, fileB), len(lineA)-len(lineB), cmp.Compare(lineA, lineB))
}

// sparkline draws the curve with a character for each step, or for each few steps if there are many.
func (s *Story) sparkline(width int) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	each := (len(s.Curve) + width - 1) / width
	var out []rune
	for i := 0; i < len(s.Curve); i += each {
		p := s.Curve[i]
		out = append(out, levels[p.Broken*(len(levels)-1)/max(p.Runs, 1)])
	}
	return string(out)
}

func (w *writer) commands() {
	if len(w.Commands) > 0 {
		w.blank()
	}
	for _, c := range w.Commands {
		w.out.WriteString(escape.Text(c.Name+": "+c.Line) + "\n")
	}
}
