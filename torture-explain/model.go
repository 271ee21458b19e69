package main

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/zktorture/zktorture/internal/plaintext"
	"github.com/zktorture/zktorture/story"
)

// model is what is seen: a list of lines with a cursor, and the details of the line at the cursor.
//
// Invariant: cursor is an index into lines, and top into lines, too, unless there are none.
type model struct {
	story         *story.Story
	events        []line // one for each event that is told
	beside        []line // with another story
	lines         []line // that are shown: one of these, perhaps folded
	width, height int
	cursor, top   int

	folded, sideBySide, details, help bool
	typing                            bool // a query
	query, said                       string
}

// line is a row of the list.
type line struct {
	step   int64
	client int    // -1: the world
	text   string // of a client, or across all
	right  string // of the other story, side by side
	mark   string // how the two differ
	code   string
	event  *story.Event
	hides  int // lines that are folded into it
	quiet  bool
}

func newModel(s *story.Story) *model {
	s = s.Folded()
	m := &model{story: s, width: 80, height: 24, details: true}
	for _, entry := range s.Outline() {
		e := &s.Events[entry.Event]
		m.events = append(m.events, line{step: e.Step, client: e.Client, text: plaintext.String(entry.Text),
			code: plaintext.String(entry.Code), event: e})
	}
	m.waits()
	m.quiet()
	if s.Beside != nil {
		for _, r := range s.Beside.Rows {
			m.beside = append(m.beside, sideBySide(r))
		}
	}
	m.fill()
	m.toPivot()
	return m
}

// waits adds a line for each operation that never returns.
func (m *model) waits() {
	last := int64(0)
	if n := len(m.events); n > 0 {
		last = m.events[n-1].step
	}
	for _, w := range m.story.Waits {
		o := m.story.Operations[w.Operation]
		m.events = append(m.events, line{step: last, client: o.Client, text: plaintext.String(o.Name + " waits for ever"),
			event: &story.Event{Step: last, Cited: true}})
	}
}

// quiet marks the lines of uneventful stretches.
func (m *model) quiet() {
	for _, stretch := range m.story.Stretches() {
		for i := range m.events {
			for j := range stretch.Length {
				m.events[i].quiet = m.events[i].quiet || m.events[i].event == &m.story.Events[stretch.Event+j]
			}
		}
	}
}

func sideBySide(r story.ComparedRow) line {
	l := line{step: r.Left.Step, client: -1, text: plaintext.String(r.Left.Text), right: plaintext.String(r.Right.Text),
		mark: r.Mark(), code: plaintext.String(r.Left.Code)}
	if r.Left.Text == "" {
		l.step, l.code = r.Right.Step, plaintext.String(r.Right.Code)
	}
	return l
}

// fill makes the lines that are shown.
func (m *model) fill() {
	m.lines = nil
	from := m.events
	if m.sideBySide {
		from = m.beside
	}
	for _, l := range from {
		last := len(m.lines) - 1
		switch {
		case !m.folded || !l.quiet:
			m.lines = append(m.lines, l)
		case last >= 0 && m.lines[last].hides > 0:
			m.lines[last].hides++
		default:
			l.hides, l.client = 1, -1
			m.lines = append(m.lines, l)
		}
	}
	m.move(0)
}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return tea.SetWindowTitle("torture explain") }

// Update implements [tea.Model].
func (m *model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = message.Width, message.Height
		m.move(0)
	case tea.MouseMsg:
		m.wheel(message)
	case tea.KeyMsg:
		if m.typing {
			m.typed(message)
			return m, nil
		}
		return m, m.key(message.String())
	}
	return m, nil
}

func (m *model) wheel(message tea.MouseMsg) {
	switch message.Button {
	case tea.MouseButtonWheelUp:
		m.move(-3)
	case tea.MouseButtonWheelDown:
		m.move(3)
	}
}

// key does what a key stands for, see keys.
func (m *model) key(key string) tea.Cmd {
	m.said = ""
	if m.help {
		m.help = false
		return nil
	}
	switch key {
	case "q", "esc", "ctrl+c":
		return tea.Quit
	case "down", "j":
		m.move(1)
	case "up", "k":
		m.move(-1)
	case "pgdown", " ", "ctrl+f":
		m.move(m.page())
	case "pgup", "ctrl+b":
		m.move(-m.page())
	case "home", "g":
		m.move(-len(m.lines))
	case "end", "G":
		m.move(len(m.lines))
	case "p":
		m.toPivot()
	case "f":
		m.toggleFold()
	case "b":
		m.toggleBeside()
	case "enter", "d":
		m.details = !m.details
		m.move(0)
	case "/":
		m.typing, m.query = true, ""
	case "n":
		m.seek(1)
	case "N":
		m.seek(-1)
	case "?", "h":
		m.help = true
	}
	return nil
}

// typed takes a key of a query.
func (m *model) typed(key tea.KeyMsg) {
	switch key.Type {
	case tea.KeyEnter:
		m.typing = false
		m.seek(1)
	case tea.KeyEsc, tea.KeyCtrlC:
		m.typing, m.query = false, ""
	case tea.KeyBackspace:
		if runes := []rune(m.query); len(runes) > 0 {
			m.query = string(runes[:len(runes)-1])
		}
	case tea.KeyRunes, tea.KeySpace:
		m.query += plaintext.String(string(key.Runes))
	}
}

// move moves the cursor, and scrolls as little as is needed for it to be seen.
func (m *model) move(by int) {
	m.cursor = max(0, min(m.cursor+by, len(m.lines)-1))
	m.top = max(m.cursor-m.page()+1, min(m.top, m.cursor))
	m.top = max(0, min(m.top, len(m.lines)-1))
}

// moveTo puts the cursor on the first line of a step, or on the one that hides it.
func (m *model) moveTo(step int64) {
	i := slices.IndexFunc(m.lines, func(l line) bool { return l.step >= step })
	if i > 0 && m.lines[i].step > step && m.lines[i-1].hides > 0 {
		i--
	}
	if i >= 0 {
		m.move(i - m.cursor)
	}
}

func (m *model) toPivot() {
	if p := m.story.Pivot; p != nil && p.Step > 0 {
		m.moveTo(p.Step)
	} else {
		m.said = "no step in particular decides this story"
	}
}

func (m *model) toggleFold() {
	step := m.step()
	m.folded = !m.folded
	m.fill()
	m.moveTo(step)
	if !slices.ContainsFunc(m.events, func(l line) bool { return l.quiet }) {
		m.said = "nothing is uneventful here"
	}
}

func (m *model) toggleBeside() {
	if len(m.beside) == 0 {
		m.said = "no second run: torture explain --interactive FILE --beside FILE|RECIPE"
		return
	}
	step := m.step()
	m.sideBySide = !m.sideBySide
	m.fill()
	m.moveTo(step)
}

func (m *model) step() int64 {
	if len(m.lines) == 0 {
		return 0
	}
	return m.lines[m.cursor].step
}

// seek moves to the next line that has the query in its text or its code, in one of two directions.
func (m *model) seek(by int) {
	query := strings.ToLower(strings.TrimSpace(m.query))
	if query == "" {
		m.said = "nothing to find: / begins a search"
		return
	}
	for n := 1; n <= len(m.lines); n++ {
		i := ((m.cursor+by*n)%len(m.lines) + len(m.lines)) % len(m.lines)
		if m.lines[i].has(query) {
			m.move(i - m.cursor)
			return
		}
	}
	m.said = "not found: " + m.query
}

func (l line) has(query string) bool {
	return strings.Contains(strings.ToLower(l.text+"\n"+l.right+"\n"+l.code), query)
}
