package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// onTerminal runs torture on a terminal, where a user types input, and returns what the terminal shows.
func onTerminal(t *testing.T, input string, env []string, args ...string) string {
	t.Helper()
	return onTerminalOf(t, 0, input, env, args...)
}

// onTerminalOf runs it on a terminal of a width; 0: it does not say.
func onTerminalOf(t *testing.T, columns uint16, input string, env []string, args ...string) string {
	t.Helper()
	user, terminal := openPTY(t)
	if err := unix.IoctlSetWinsize(int(user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 40}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asMain+"=1", "TERM=xterm")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	if _, err := io.WriteString(user, input); err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	io.Copy(&shown, user) // fails with EIO when the process has closed the terminal
	cmd.Wait()
	return strings.ReplaceAll(shown.String(), "\r\n", "\n")
}

// openPTY opens a pseudoterminal: see pts(4).
func openPTY(t *testing.T) (user, terminal *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return user, terminal
}

// On a terminal verdicts are coloured, unless the user does not want that.
func TestColoursOnTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	args := strings.Fields("run counter --seed 1 --episodes 2 --faults none")
	if shown := onTerminal(t, "", nil, args...); !strings.Contains(shown, "\x1b[32mok\x1b[0m counter (ours)") {
		t.Errorf("there is no green ok:\n%q", shown)
	}
	if shown := onTerminal(t, "", []string{"NO_COLOR=1"}, args...); !strings.Contains(shown, "\nok counter") &&
		!strings.Contains(shown, "\rok counter") && !strings.Contains(shown, "Kok counter") || strings.Contains(shown, "[32m") {
		t.Errorf("NO_COLOR is not heeded:\n%q", shown)
	}
}

// Help and the closing lines of a run are as wide as the terminal, between 60 and 120 columns.
func TestWidthOfTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	for columns, want := range map[uint16]int{30: 60, 72: 72, 300: 120} {
		for _, line := range []string{"--help", "list --help", "run lock --seed 1 --episodes 40 --faults all"} {
			shown := onTerminalOf(t, columns, "", []string{"NO_COLOR=1", "COLUMNS="}, strings.Fields(line)...)
			widest := 0
			for text := range strings.Lines(regexp.MustCompile(`\r[^\n]*\x1b\[K`).ReplaceAllString(shown, "")) {
				if !strings.HasPrefix(text, "ok lock ") { // one line
					widest = max(widest, utf8.RuneCountInString(strings.TrimRight(text, "\r\n")))
				}
			}
			if widest > want || widest < want*3/4 {
				t.Errorf("at %d columns torture %s is %d wide, want up to %d\n%s", columns, line, widest, want, shown)
			}
		}
	}
}

// On a terminal the demo waits for Enter after each page, and ends at q.
func TestDemoPauses(t *testing.T) {
	shown := onTerminal(t, "\nq\n", nil, "zoo", "--demo", "--out", filepath.Join(t.TempDir(), "demo"))
	if !strings.Contains(shown, "2/4  What happened") || strings.Contains(shown, "3/4") ||
		strings.Count(shown, "Enter for the next page") != 2 {
		t.Errorf("after Enter and q the terminal shows\n%s", shown)
	}
	shown = onTerminal(t, "", nil, "zoo", "--demo", "--no-pause", "--out", filepath.Join(t.TempDir(), "demo"))
	if !strings.Contains(shown, "4/4") || strings.Contains(shown, "Enter for") {
		t.Errorf("with --no-pause the terminal shows\n%s", shown)
	}
}
