package main

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"github.com/zktorture/zktorture/internal/plaintext"
	"github.com/zktorture/zktorture/story"
)

var (
	bold    = lipgloss.NewStyle().Bold(true)
	faint   = lipgloss.NewStyle().Faint(true)
	fault   = lipgloss.NewStyle().Foreground(lipgloss.Color("1"))
	ended   = lipgloss.NewStyle().Foreground(lipgloss.Color("3"))
	differs = lipgloss.NewStyle().Bold(true)
	here    = lipgloss.NewStyle().Reverse(true)
)

const (
	gutter    = 9  // mark and step
	narrowest = 18 // column of a client; with less each line begins with its client
)

const keys = `  up down j k      one line           / n N   search, next, previous
  PgUp PgDn space  one page           f       fold uneventful steps
  g G Home End     first, last        b       side by side
  p                the pivotal step   d       details of a step
  q Esc            quit               ?       these keys`

// narrowKeys are keys for less than 72 columns.
const narrowKeys = `  up down j k      one line
  PgUp PgDn space  one page
  g G Home End     first, last
  p                the pivotal step
  / n N            search, next, prev.
  f                fold
  b                side by side
  d                details of a step
  q Esc            quit`

// View implements [tea.Model]: the sentence, the names of the columns, the list, the details, and a line of help.
func (m *model) View() string {
	lines := m.head()
	if m.help {
		text := keys
		if m.width < 72 {
			text = narrowKeys
		}
		lines = append(lines, strings.Split(text, "\n")...)
		lines = append(lines, "", faint.Render("any key goes back"))
		return m.fit(lines)
	}
	lines = append(lines, m.columns())
	for i := m.top; i < min(m.top+m.page(), len(m.lines)); i++ {
		lines = append(lines, m.row(i))
	}
	for len(lines) < m.height-1-len(m.detail()) {
		lines = append(lines, "")
	}
	lines = append(lines, m.detail()...)
	return m.fit(append(lines, m.status()))
}

// fit cuts the lines to the window.
func (m *model) fit(lines []string) string {
	lines = lines[:min(len(lines), max(m.height, 1))]
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], m.width, "…")
	}
	return strings.Join(lines, "\n")
}

// page is how many lines of the list are seen.
func (m *model) page() int { return max(1, m.height-len(m.head())-2-len(m.detail())) }

// headMax bounds the lines of the sentence.
const headMax = 3

// head is the sentence, in at most so many lines that the list has room.
func (m *model) head() []string {
	text := plaintext.String(fmt.Sprintf("%s: %s", m.story.Property, m.story.Sentence()))
	if m.story.Property == "" {
		text = plaintext.String(m.story.Title)
	}
	lines := strings.Split(ansi.Wrap(text, max(m.width, 10), ""), "\n")
	if most := min(headMax, max(1, m.height/6)); len(lines) > most {
		lines = lines[:most]
		lines[most-1] = ansi.Truncate(lines[most-1], m.width-1, "") + "…"
	}
	for i := range lines {
		lines[i] = bold.Render(lines[i])
	}
	return lines
}

// columns names the clients.
func (m *model) columns() string {
	text := fmt.Sprintf("%*s  ", gutter-2, "step")
	width := m.column()
	switch {
	case m.sideBySide:
		width := m.half()
		text += pad(plaintext.String(m.story.Beside.Left), width) + "   " + pad(plaintext.String(m.story.Beside.Right), width)
	case width > 0:
		for _, c := range m.story.Clients {
			text += pad(plaintext.String(c.Name), width)
		}
	}
	return faint.Render(text)
}

// column is the width of a client's column, 0 if there is no room for columns.
func (m *model) column() int {
	width := (m.width - gutter) / max(1, len(m.story.Clients))
	if width < narrowest {
		return 0
	}
	return width
}

// half is the width of a story, side by side.
func (m *model) half() int { return max(4, (m.width-gutter-3)/2) }

// pad cuts or fills a text to a width.
func pad(text string, width int) string {
	text = ansi.Truncate(text, width-1, "…")
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// row is a line of the list.
func (m *model) row(i int) string {
	l := m.lines[i]
	mark, step := "  ", fmt.Sprint(l.step)
	if p := m.story.Pivot; p != nil && p.Step > 0 && p.Step == l.step {
		mark = "=>"
	}
	if i > 0 && m.lines[i-1].step == l.step {
		mark, step = "  ", ""
	}
	text := fmt.Sprintf("%s%*s  ", mark, gutter-4, step) + m.cells(l)
	look := m.look(l)
	if i == m.cursor {
		look = here
		text += strings.Repeat(" ", max(0, m.width-ansi.StringWidth(text)))
	}
	return look.Render(ansi.Truncate(text, m.width, "…"))
}

// cells is what a line says, in its columns.
func (m *model) cells(l line) string {
	width := m.column()
	switch {
	case l.hides > 0:
		return fmt.Sprintf("… %d uneventful, f unfolds them", l.hides)
	case m.sideBySide:
		return pad(l.text, m.half()) + " " + l.mark + " " + pad(l.right, m.half())
	case l.client < 0:
		return "-- " + l.text + " --"
	case width == 0:
		return fmt.Sprintf("%-4s", plaintext.String(m.story.Clients[l.client].Name)) + l.text
	}
	return strings.Repeat(" ", l.client*width) + l.text
}

func (m *model) look(l line) lipgloss.Style {
	switch {
	case m.sideBySide && l.mark != " ":
		return differs
	case l.event == nil || l.hides > 0:
		return faint
	case l.event.Kind == story.KindFault:
		return fault
	case l.event.Kind == story.KindEnds || l.event.Kind == story.KindLearns:
		return ended
	case l.event.Cited:
		return bold
	case l.client < 0:
		return faint
	}
	return lipgloss.NewStyle()
}

// detailHeight bounds the lines of the details; a window with less than detailFrom lines has none.
const (
	detailHeight = 6
	detailFrom   = 14
)

// detail tells more of the line at the cursor: all of its text, the code, the znodes after its step.
func (m *model) detail() []string {
	if !m.details || m.height < detailFrom || m.cursor >= len(m.lines) {
		return nil
	}
	l := m.lines[m.cursor]
	text := l.text
	if l.right != "" && l.right != l.text {
		text += "  |  " + l.right
	}
	texts := []string{fmt.Sprintf("step %d: %s", l.step, strings.TrimPrefix(text, "  |  "))}
	if p := m.story.Pivot; p != nil && p.Step == l.step && p.Why != "" {
		texts = append(texts, "why it decides: "+p.Why)
	}
	if l.code != "" {
		texts = append(texts, "code: "+l.code)
	}
	texts = append(texts, "znodes: "+m.tree(l.step))
	lines := []string{faint.Render(strings.Repeat("─", max(0, m.width)))}
	for _, text := range texts {
		lines = append(lines, strings.Split(ansi.Wrap(plaintext.String(text), max(m.width, 10), ""), "\n")...)
	}
	for len(lines) < detailHeight {
		lines = append(lines, "")
	}
	return lines[:detailHeight]
}

// tree names the znodes after a step, with the sessions that own them.
func (m *model) tree(step int64) string {
	var names []string
	for _, z := range m.story.Znodes {
		for _, l := range z.Lives {
			if l.From > step || l.Until >= 0 && step >= l.Until {
				continue
			}
			name := z.Name
			if l.Owner >= 0 {
				name += " of " + m.story.Sessions[l.Owner].Name
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// status is the last line: a query, what was said, or where the cursor is.
func (m *model) status() string {
	switch {
	case m.typing:
		return "/" + m.query + "█"
	case m.said != "":
		return bold.Render(plaintext.String(m.said))
	}
	return faint.Render(fmt.Sprintf("%d of %d  p pivot  / search  f fold  b beside  ? keys  q quit", m.cursor+1, len(m.lines)))
}
