package story

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zktorture/zktorture/internal/escape"
)

// The table of events has a row for each step, a column for each client, and world events across all columns. Bars
// show the extent of operations. With too many clients to fit side by side there is one column, in which each line
// begins with its client.

const (
	markWidth = 2 // of the bracket beside the steps of the cause, and of the bars
	stepWidth = 4 // of a step; a stamp may be longer
	timeWidth = 9
	between   = 3 // columns
	narrowest = 18
	listWho   = 4 // client's name, in a list
)

// The most rows of a table, from its begin and from its end. A minimised story has about fifty.
const (
	rowsHead = 120
	rowsTail = 40
)

// cell is a client's part of a row.
type cell struct {
	mark  string // a bar, or "! ", of markWidth
	text  string
	style style
}

// row is a line of the table before wrapping.
type row struct {
	step, time int64
	cells      map[int]cell // by client; the world is -1 and alone in its row
	inside     []bool       // clients with an operation under way
	cited      bool
}

type table struct {
	story  prose
	color  bool
	list   bool  // in one column
	steps  int   // width of the steps
	times  int   // width of the times; 0: time does not move
	column int   // width of a column
	under  []int // operations under way, by client
	out    strings.Builder
}

func newTable(s prose, o TextOptions) *table {
	t := &table{story: s, color: o.Color, under: make([]int, len(s.Clients))}
	t.steps = stepWidth
	for _, e := range s.Events {
		t.steps = max(t.steps, len(strconv.FormatInt(e.Step, 10)))
		if e.Time > 0 {
			t.times = timeWidth
		}
	}
	n := max(len(s.Clients), 1)
	room := o.Width - t.gutter()
	if t.column = (room - between*(n-1)) / n; t.column < narrowest {
		t.list, t.column = true, room-listWho
	}
	return t
}

// gutter is the width of everything before the columns.
func (t *table) gutter() int { return markWidth + t.steps + t.times + 2 }

func (t *table) String() string {
	t.head()
	rows := t.rows()
	before := row{step: -1, time: -1}
	for i, r := range rows {
		if left := len(rows) - rowsHead - rowsTail; left > 0 && i >= rowsHead && i < len(rows)-rowsTail {
			if i == rowsHead {
				t.put(fmt.Sprintf("%*s… %d rows are left out", t.gutter(), "", left))
			}
			continue
		}
		t.row(r, before)
		before = r
	}
	if t.story.Cause == nil {
		t.put("\n  * an operation that the verdict is about")
	}
	return t.out.String()
}

func (t *table) head() {
	var cells []cell
	for _, c := range t.story.Clients {
		cells = append(cells, cell{text: c.Name, style: bold})
	}
	if t.list {
		cells = nil
	}
	step, time := "step", "time"
	if t.story.Clock == clockStamps {
		step, time = "stamp", ""
	}
	t.lines(paint(t.color, bold, t.margin("", step, time)), cells)
}

// margin fills the gutter.
func (t *table) margin(mark, step, time string) string {
	text := fmt.Sprintf("%-*s%*s", markWidth, mark, t.steps, step)
	if t.times > 0 {
		text += fmt.Sprintf("%*s", t.times, time)
	}
	return text + "  "
}

// rows turns events into rows. Events of different clients in one step stand side by side.
func (t *table) rows() (rows []row) {
	for i, e := range t.story.Events {
		if t.story.silent(i) {
			continue
		}
		last := len(rows) - 1
		if last < 0 || !t.beside(rows[last], e) {
			rows = append(rows, row{step: e.Step, time: e.Time, cells: map[int]cell{}, inside: t.inside()})
			last++
		}
		rows[last].cells[e.Client] = cell{t.mark(e), t.story.wordsOfUser(e), styleOf(e)}
		rows[last].cited = rows[last].cited || e.Cited
	}
	return append(rows, t.never()...)
}

// inside tells which clients have an operation under way.
func (t *table) inside() []bool {
	inside := make([]bool, len(t.under))
	for i, n := range t.under {
		inside[i] = n > 0
	}
	return inside
}

// beside reports whether an event fits into a row.
func (t *table) beside(r row, e Event) bool {
	_, taken := r.cells[e.Client]
	_, world := r.cells[-1]
	return !t.list && r.step == e.Step && r.time == e.Time && !taken && !world && e.Client >= 0
}

// silent reports whether an event is redundant: sessions begin with the run, and end when a fault expires them.
func (s *Story) silent(i int) bool {
	e := s.Events[i]
	if e.Kind == kindEnds {
		return i > 0 && s.Events[i-1].Step == e.Step && s.Events[i-1].Kind == kindFault &&
			s.Events[i-1].What == "expiry"
	}
	return e.Kind == kindBegins && e.Step == 0
}

// mark assigns an event to its operation, and marks where operations begin and end.
func (t *table) mark(e Event) string {
	switch {
	case e.Kind == kindFault && e.What == "crash":
		t.under[e.Client] = 0
		return "! "
	case e.Kind == kindFault:
		return "! "
	case e.Kind == kindCall:
		t.under[e.Client]++
		return "┌ "
	case e.Kind == kindReturn:
		t.under[e.Client]--
		return "└ "
	case e.Client >= 0 && t.under[e.Client] > 0:
		return "│ "
	}
	return "  "
}

func styleOf(e Event) style {
	switch {
	case e.Kind == kindFault:
		return red
	case e.Kind == kindEnds || e.Kind == kindLearns:
		return yellow
	case e.Cited:
		return bold
	case e.Client < 0:
		return faint
	}
	return plain
}

// never returns a row for each operation that waits for ever.
func (t *table) never() (rows []row) {
	for _, w := range t.story.Waits {
		o := t.story.Operations[w.Operation]
		last := len(rows) - 1
		if last < 0 || t.list || rows[last].cells[o.Client].text != "" {
			rows = append(rows, row{step: -1, time: -1, cells: map[int]cell{}, inside: t.inside()})
			last++
		}
		rows[last].cells[o.Client] = cell{"╎ ", o.Name + " waits forever", bold}
	}
	return rows
}

func (t *table) row(r, before row) {
	step, time := "", ""
	if r.step != before.step && r.step >= 0 {
		step = strconv.FormatInt(r.step, 10)
	}
	if r.time != before.time && r.time >= 0 {
		time = fmt.Sprintf("%.3fs", float64(r.time)/1000)
	}
	mark := t.bracket(r.step, step != "")
	if r.cited && t.story.Cause == nil {
		mark = "*"
	}
	margin := t.margin(mark, step, time)
	if world, ok := r.cells[-1]; ok {
		t.across(margin, world)
		return
	}
	t.clients(margin, r)
}

// bracket marks the steps of the cause.
func (t *table) bracket(step int64, first bool) string {
	c := t.story.Cause
	switch {
	case !c.shows() || step < c.From || step > c.To:
		return ""
	case c.From == c.To && first:
		return ">"
	case c.From == c.To:
		return ""
	case step == c.From && first:
		return "┌"
	case step == c.To && first:
		return "└"
	case step == c.To:
		return ""
	}
	return "│"
}

// across prints a world event.
func (t *table) across(margin string, c cell) {
	width := t.column*max(len(t.story.Clients), 1) + between*(len(t.story.Clients)-1)
	if t.list {
		width = t.column + listWho
	}
	for _, line := range breakLines(c.text, width-6, "", "") {
		t.put(margin + paint(t.color, c.style, "-- "+line+" --"))
		margin = t.margin("", "", "")
	}
}

// clients prints a row of cells, or in a list one line for each.
func (t *table) clients(margin string, r row) {
	if !t.list {
		cells := make([]cell, len(t.story.Clients))
		for i := range cells {
			cells[i] = t.at(r, i)
		}
		t.lines(margin, cells)
		return
	}
	for i, client := range t.story.Clients {
		if c, ok := r.cells[i]; ok {
			t.lines(margin+fmt.Sprintf("%-*s", listWho, client.Name), []cell{c})
		}
	}
}

// at returns a client's cell: a bar if it is idle while its operation is under way.
func (t *table) at(r row, client int) cell {
	if c, ok := r.cells[client]; ok {
		return c
	}
	if r.inside[client] {
		return cell{mark: "│ ", style: faint}
	}
	return cell{}
}

// lines prints cells side by side, wrapped to as many lines as the longest needs.
func (t *table) lines(margin string, cells []cell) {
	broken := make([][]string, len(cells))
	height := 1
	for i, c := range cells {
		broken[i] = breakLines(c.text, t.column, c.mark, c.indent())
		height = max(height, len(broken[i]))
	}
	for n := range height {
		line := margin
		for i, c := range cells {
			text := ""
			if n < len(broken[i]) {
				text = broken[i][n]
			} else if c.mark == "│ " || c.mark == "┌ " {
				text = "│"
			}
			line += paint(t.color, c.style, text) + strings.Repeat(" ", max(0, t.column-length(text))+between)
		}
		t.put(line)
		margin = strings.Repeat(" ", length(margin))
	}
}

// indent is the prefix of a cell's further lines.
func (c cell) indent() string {
	switch c.mark {
	case "┌ ", "│ ", "╎ ":
		return "│   "
	case "":
		return ""
	}
	return "    "
}

func (t *table) put(line string) {
	t.out.WriteString(strings.TrimRight(line, " "))
	t.out.WriteByte('\n')
}

// breakLines wraps a text between words, and breaks words longer than width. Characters that could steer a terminal are
// escaped. The first line begins with one indent and all others with another, which must be shorter than the width.
func breakLines(text string, width int, first, others string) (lines []string) {
	line, empty := first, true
	for _, word := range strings.Fields(escape.Text(text)) {
		if !empty && length(line)+1+length(word) > width {
			lines = append(lines, line)
			line, empty = others, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
		for length(line) > width {
			runes := []rune(line)
			lines = append(lines, string(runes[:width]))
			line = others + string(runes[width:])
		}
	}
	return append(lines, line)
}

func length(s string) int { return utf8.RuneCountInString(s) }
