package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"github.com/zktorture/zktorture/internal/await"
	"github.com/zktorture/zktorture/story"
)

// lostWakeup is the story in testdata, with a mended run beside it: torture explain --json --beside wrote it.
func lostWakeup(t *testing.T) *story.Story {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "lostwakeup.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s, err := story.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// press gives a model keys by name, or as text.
func press(m *model, keys ...string) *model {
	named := map[string]tea.KeyType{"enter": tea.KeyEnter, "home": tea.KeyHome, "end": tea.KeyEnd, "down": tea.KeyDown,
		"esc": tea.KeyEsc, "backspace": tea.KeyBackspace}
	for _, key := range keys {
		if kind, known := named[key]; known {
			m.Update(tea.KeyMsg{Type: kind})
			continue
		}
		for _, r := range key {
			m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		}
	}
	return m
}

func sized(m *model, width, height int) *model {
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return m
}

// seen is what the window shows, without colours. Nothing may be wider or higher than it.
func seen(t *testing.T, m *model) string {
	t.Helper()
	view := ansi.Strip(m.View())
	lines := strings.Split(view, "\n")
	if len(lines) > m.height {
		t.Errorf("%d lines in a window of %d:\n%s", len(lines), m.height, view)
	}
	for _, line := range lines {
		if ansi.StringWidth(line) > m.width {
			t.Errorf("a line is wider than the window of %d: %q", m.width, line)
		}
	}
	return view
}

func mustSee(t *testing.T, m *model, wants ...string) {
	t.Helper()
	view := seen(t, m)
	for _, want := range wants {
		if !strings.Contains(view, want) {
			t.Errorf("%q is not seen:\n%s", want, view)
		}
	}
}

// It begins at the pivotal step, with its reason, the line of code and the clients side by side.
func TestBeginsAtThePivot(t *testing.T) {
	m := sized(newModel(lostWakeup(t)), 80, 24)
	mustSee(t, m, "lost-wakeup: c2 still waits", "c1      ", "=>    8", "step 8: children lock", "why it decides: c2 decides by",
		"code: zoo/published/lock.go:200")
	if press(m, "home"); m.step() != 0 {
		t.Errorf("Home leads to step %d", m.step())
	}
	if press(m, "p"); m.step() != m.story.Pivot.Step {
		t.Errorf("p leads to step %d", m.step())
	}
	mustSee(t, press(m, "end"), "acquire waits for ever")
}

// In forty columns each line begins with its client.
func TestNarrow(t *testing.T) {
	m := sized(newModel(lostWakeup(t)), 40, 24)
	mustSee(t, press(m, "home"), "0  c1  > acquire()", "1  c2  exists lock ok")
	mustSee(t, press(m, "?"), "the pivotal step", "any key goes back")
	mustSee(t, press(m, "x"), "c1  > acquire()")
}

func TestSearch(t *testing.T) {
	m := sized(newModel(lostWakeup(t)), 80, 24)
	press(m, "home", "/", "DELETEE", "backspace", "enter")
	if m.step() != 9 {
		t.Errorf("a search for delete leads to step %d", m.step())
	}
	if press(m, "n"); m.step() != 9 {
		t.Errorf("the only match is at step 9, and the next is at %d", m.step())
	}
	press(m, "home", "/", "lock.go:285", "enter")
	if m.step() != 10 {
		t.Errorf("a search for a line of code leads to step %d", m.step())
	}
	press(m, "home", "/", "lock.go:166", "enter", "N")
	if m.step() != 4 {
		t.Errorf("the match before the first is at step %d", m.step())
	}
	mustSee(t, press(m, "/", "no such text", "enter"), "not found: no such text")
	mustSee(t, press(m, "/", "no such text", "esc", "n"), "/ begins a search")
}

// Folding hides uneventful lines and nothing else, and keeps the place.
func TestFold(t *testing.T) {
	m := sized(newModel(lostWakeup(t)), 80, 24)
	whole := len(m.lines)
	press(m, "home", "/", "lock.go:166", "enter", "f")
	mustSee(t, m, "… 4 uneventful, f unfolds them", "create x-…-0000")
	if len(m.lines) != whole-3 || m.lines[m.cursor].hides != 4 {
		t.Errorf("folded there are %d lines of %d, and the cursor is on one that hides %d", len(m.lines), whole, m.lines[m.cursor].hides)
	}
	if press(m, "f"); len(m.lines) != whole {
		t.Errorf("unfolded there are %d lines, and were %d", len(m.lines), whole)
	}
}

func TestSideBySide(t *testing.T) {
	m := sized(newModel(lostWakeup(t)), 80, 24)
	mustSee(t, press(m, "b", "home"), "published/WriteLock", "ours", "| c2 create lock-…-0000")
	if mustSee(t, press(m, "b"), "create x-…-0000"); m.sideBySide {
		t.Error("b does not go back")
	}
	m.beside = nil
	mustSee(t, press(m, "b"), "no second run")
}

// Every key, in windows of every size, also of a story without anything in it.
func TestNoWindowIsTooSmall(t *testing.T) {
	empty := &story.Story{Format: story.Format, Property: "order", Message: "m", Clock: story.ClockStamps}
	for _, s := range []*story.Story{lostWakeup(t), empty} {
		for _, width := range []int{1, 5, 20, 40, 79, 200} {
			for _, height := range []int{1, 2, 5, 14, 60} {
				m := sized(newModel(s), width, height)
				for _, key := range []string{"j", "G", " ", "b", "f", "d", "/", "x", "enter", "N", "?", "k", "g", "p"} {
					seen(t, press(m, key))
				}
			}
		}
	}
}

// A story's text cannot steer the terminal.
func TestTextCannotSteer(t *testing.T) {
	s := lostWakeup(t)
	for i := range s.Events {
		s.Events[i].Result, s.Events[i].Answer, s.Events[i].Code = "\x1b[2J", "\x1b[2J", "\x1b]0;x\a"
	}
	s.Message, s.Beside.Left, s.Clients[0].Name = "\x1b[2J", "\x1b[2J", "\x1b[2J"
	m := sized(newModel(s), 120, 40)
	for _, view := range []string{m.View(), press(m, "b").View()} {
		if strings.Contains(view, "[2J") && strings.Contains(view, "\x1b[2J") || strings.Contains(view, "\x1b]0") {
			t.Errorf("the story steers the terminal: %q", view)
		}
	}
}

// The program shows a story in a terminal, takes keys, and leaves the terminal as it was.
func TestInTerminal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a pseudo-terminal")
	}
	program := filepath.Join(t.TempDir(), "torture-explain")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Hang) // its end ends all reads from the terminal
	defer cancel()
	run := exec.CommandContext(ctx, program, filepath.Join("testdata", "lostwakeup.json"))
	run.Env = append(os.Environ(), "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(run, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	defer terminal.Close()
	screen := &screen{t: t, terminal: terminal}
	screen.await("children lock")
	screen.send("?")
	screen.await("any key goes back")
	screen.text.Reset()
	screen.send("x")
	screen.await("children lock")
	screen.send("q")
	screen.await("\x1b[?1049l") // the other screen is left
	if err := run.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// screen is what a program has written to its terminal.
type screen struct {
	t        *testing.T
	terminal *os.File
	text     strings.Builder
}

func (s *screen) send(keys string) {
	if _, err := s.terminal.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// await reads until a text has been written.
func (s *screen) await(text string) {
	s.t.Helper()
	buf := make([]byte, 4096)
	for !strings.Contains(s.text.String(), text) {
		n, err := s.terminal.Read(buf)
		s.text.Write(buf[:n])
		if err != nil && !strings.Contains(s.text.String(), text) {
			s.t.Fatalf("%q is not written: %v\n%q", text, err, s.text.String())
		}
	}
}

// What is no story is refused in a line.
func TestNoStory(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "not a story",
		`{"format":"something else"}`: "its format is",
		`{"format":"zktorture story 1","events":[{"kind":"begins","session":3}]}`: "not a whole story",
	} {
		name := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := show(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
