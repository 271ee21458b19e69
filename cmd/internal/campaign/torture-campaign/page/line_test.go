package page

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
	"time"
)

func TestLineOnATerminal(t *testing.T) {
	var out strings.Builder
	l := NewLine(&out)
	l.width = func() int { return 300 }
	l.Show(running())
	want := "\rRUNNING · 16 of 27 units (59 %) · 15,400 episodes, 61/s · 1 worker · ends in about 7m0s\x1b[K"
	if out.String() != want {
		t.Errorf("it shows %q", out.String())
	}
	out.Reset()
	l.width = func() int { return 40 }
	s := broken(3, 3)
	s.Units = 0
	l.Show(s)
	if want := "\rVIOLATION · 16 units done · 15,400 epi…\x1b[K"; out.String() != want {
		t.Errorf("a narrow one shows %q", out.String())
	}
	out.Reset()
	l.Clear()
	if out.String() != "\r\x1b[K" {
		t.Errorf("it is removed by %q", out.String())
	}
}

// Where there is no terminal a line is written when there is news, or once a minute, and nothing in it steers.
func TestLineInALog(t *testing.T) {
	var out strings.Builder
	l := NewLine(&out)
	s := running()
	lines := func(what string, want int) {
		t.Helper()
		out.Reset()
		l.Show(s)
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("%s: %d lines, not %d:\n%s", what, got, want, out.String())
		}
	}
	lines("at first", 1)
	want := "22:10:00 RUNNING · 16 of 27 units (59 %) · 15,400 episodes, 61/s · 1 worker · ends in about 7m0s\n"
	if out.String() != want {
		t.Errorf("it says %q", out.String())
	}
	s.Now, s.Done = s.Now.Add(59*time.Second), 17
	lines("within a minute", 0)
	s.Now = s.Now.Add(time.Second)
	lines("after a minute", 1)
	s.Now = s.Now.Add(-time.Hour)
	lines("when the clock is put back", 1)
	s.Jobs[1].Found = s.Jobs[2].Found
	lines("when something broke", 1)
	s.Unknown[4] = "it froze" + steering
	lines("when a unit is unknown", 2)
	if steers(out.String()) || !strings.Contains(out.String(),
		"1 property broken · 1 unit unknown") {
		t.Errorf("it says %q", out.String())
	}
	lines("when nothing is new", 0)
	s = running()
	s.State, s.Concluded = status.Concluding, 2
	lines("when all units are done", 1)
	if !strings.Contains(out.String(), "minimising failures: job 2 of 3 · ") {
		t.Errorf("it says %q", out.String())
	}
	e := ended()
	s = e
	lines("at the end", 1)
	l.Clear()
	if !strings.HasPrefix(out.String(), "22:10:00 OK · ended · 27 of 27 units (100 %)") {
		t.Errorf("it says %q", out.String())
	}
}
