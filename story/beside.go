package story

import (
	"fmt"
	"slices"
	"strings"
)

// Comparison is two stories side by side: equal events in one row. It is small enough to be JSON in a story.
type Comparison struct {
	Left  string        `json:"left"` // what to call the stories
	Right string        `json:"right"`
	Ends  string        `json:"ends"` // how the right one ends, in a sentence
	Rows  []ComparedRow `json:"rows"`
	Parts int           `json:"parts"` // the first row that differs; -1: none
}

// ComparedRow is an event of both stories, or one of each that differ, or one of either.
type ComparedRow struct {
	Same  bool         `json:"same"`
	Left  ComparedCell `json:"left"`
	Right ComparedCell `json:"right"`
}

// ComparedCell is an event, in words; "" if there is none.
type ComparedCell struct {
	Step int64  `json:"step"`
	Text string `json:"text"`
	Code string `json:"code,omitempty"`
}

// comparedMax bounds the events of each side.
const comparedMax = 1000

// Compare puts another story beside this one. Stories of recorded histories have nothing but calls and returns, so of the
// other only these are compared.
func (s *Story) Compare(other *Story, left, right string) {
	whole := s.Clock == clockSteps && other.Clock == clockSteps
	a, b := s.Folded().compared(whole), other.Folded().compared(whole)
	c := &Comparison{Left: left, Right: right, Ends: prose{other}.short(other.Message), Rows: []ComparedRow{}, Parts: -1}
	if other.Property != "" {
		c.Ends = other.Property + " breaks: " + c.Ends
	}
	for _, p := range align(a, b) {
		c.add(p, a, b)
	}
	c.Parts = slices.IndexFunc(c.Rows, func(r ComparedRow) bool { return !r.Same })
	s.Beside = c
}

// compared lists the events of a story as cells.
func (s *Story) compared(whole bool) (cells []ComparedCell) {
	for i, e := range s.Events {
		if !s.silent(i) && (whole || e.Kind == kindCall || e.Kind == kindReturn) && len(cells) < comparedMax {
			text := s.entry(e)
			if e.Client >= 0 {
				text = fmt.Sprintf("c%d %s", e.Client+1, text)
			}
			cells = append(cells, ComparedCell{e.Step, text, e.Code})
		}
	}
	return cells
}

// begins are the marks of events, as traces have them.
var begins = map[Kind]string{kindCall: "> ", kindReturn: "< ", kindFault: "! "}

// entry is an event in words, with its mark.
func (s *Story) entry(e Event) string { return begins[e.Kind] + prose{s}.wordsOfUser(e) }

// pair is an index into each side, -1 for none.
type pair struct{ a, b int }

// align finds the longest common subsequence of two lists.
func align(a, b []ComparedCell) (pairs []pair) {
	length := make([][]int32, len(a)+1)
	for i := range length {
		length[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			length[i][j] = max(length[i+1][j], length[i][j+1])
			if a[i].Text == b[j].Text {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i].Text == b[j].Text:
			pairs = append(pairs, pair{i, j})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			pairs = append(pairs, pair{i, -1})
			i++
		default:
			pairs = append(pairs, pair{-1, j})
			j++
		}
	}
	return pairs
}

// add adds a row. An event of the right alone stands beside the first of the left alone that has nothing beside it.
func (c *Comparison) add(p pair, a, b []ComparedCell) {
	switch {
	case p.b < 0:
		c.Rows = append(c.Rows, ComparedRow{Left: a[p.a]})
	case p.a >= 0:
		c.Rows = append(c.Rows, ComparedRow{Same: true, Left: a[p.a], Right: b[p.b]})
	default:
		at := len(c.Rows)
		for at > 0 && !c.Rows[at-1].Same && c.Rows[at-1].Right.Text == "" {
			at--
		}
		if at == len(c.Rows) {
			c.Rows = append(c.Rows, ComparedRow{})
		}
		c.Rows[at].Right = b[p.b]
	}
}

// Mark says how a row differs, as diff -y does.
func (r ComparedRow) Mark() string {
	switch {
	case r.Same:
		return " "
	case r.Right.Text == "":
		return "<"
	case r.Left.Text == "":
		return ">"
	}
	return "|"
}

// beside writes the two stories in two columns.
func (w *writer) beside() {
	c := w.Beside
	if c == nil {
		return
	}
	w.section("side by side: " + c.Left + ", and on the right " + c.Right)
	width := (w.o.Width - 2*besideStep - 3) / 2
	for i, r := range c.Rows {
		if i == c.Parts {
			w.out.WriteString(paint(w.o.Color, bold, "here they part "+strings.Repeat("-", w.o.Width-15)) + "\n")
		}
		w.compared(r, width)
	}
	if c.Parts < 0 {
		w.item("they are the same")
	}
	w.item("on the right: " + c.Ends)
}

// besideStep is the width of a step and the space after it.
const besideStep = 6

// compared writes a row, with as many lines as its longer cell needs.
func (w *writer) compared(r ComparedRow, width int) {
	left, right := r.Left.lines(width), r.Right.lines(width)
	for n := range max(len(left), len(right)) {
		line, mark := "", " "
		if n < len(left) {
			line = left[n]
		}
		if n == 0 {
			mark = r.Mark()
		}
		line += strings.Repeat(" ", max(0, besideStep+width-length(line))) + " " + mark + " "
		if n < len(right) {
			line += right[n]
		}
		look := plain
		if !r.Same {
			look = bold
		}
		w.out.WriteString(paint(w.o.Color, look, strings.TrimRight(line, " ")) + "\n")
	}
}

func (c ComparedCell) lines(width int) []string {
	if c.Text == "" {
		return nil
	}
	lines := breakLines(c.Text, width, "", "  ")
	for i := range lines {
		step := ""
		if i == 0 {
			step = fmt.Sprint(c.Step)
		}
		lines[i] = fmt.Sprintf("%4s  %s", step, lines[i])
	}
	return lines
}
