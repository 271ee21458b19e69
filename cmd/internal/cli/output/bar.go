package output

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/sim"
)

// bar is the progress line, on a terminal only. It shows the run's time, or its episodes if their number is given.
type bar struct {
	Line  *console.Line
	of    int64 // milliseconds, if it is timed
	timed bool
	quiet bool
	err   io.Writer

	found atomic.Bool // a property broke
}

func NewBar(c *console.Context, quiet bool, episodes int, duration time.Duration) *bar {
	b := &bar{timed: episodes == 0 && duration > 0, of: max(duration.Milliseconds(), 1), quiet: quiet, err: c.Stderr}
	b.Line = console.NewLine(c, quiet)
	return b
}

// Tell returns what prints violations when they are found: the first with its whole sentence and what comes next, and of
// others the beginning.
func (b *bar) Tell(seed uint64) func(episode int, v sim.Violation) {
	return func(episode int, v sim.Violation) {
		first := !b.found.Swap(true)
		if b.quiet {
			return
		}
		where := "an execution"
		if episode >= 0 {
			where = fmt.Sprintf("episode %d", episode)
		}
		text := fmt.Sprintf("found: %s in %s: %s", v.Property, where, strings.ReplaceAll(v.Message, "\n", " "))
		if line := []rune(text); first {
			sentence, _, _ := strings.Cut(v.Message, "\n")
			text = console.Wrap(fmt.Sprintf("found: %s in %s of seed %d: %s", v.Property, where, seed, sentence), console.Columns-2) +
				"\nthe run goes on; then this is made small and told as a story (Ctrl-C: at once, as it is)"
			text = strings.ReplaceAll(text, "\n", "\n  ")
		} else if len(line) > console.Columns {
			text = string(line[:console.Columns-1]) + "…"
		}
		b.Line.Above(func() { fmt.Fprintln(b.err, text) })
	}
}

// minimisingMax is how many runs one property takes at most, as a rule.
const minimisingMax = 10000

// Status is the exit status as far as it is known.
func (b *bar) Status() int {
	if b.found.Load() {
		return console.ExitViolation
	}
	return console.ExitUnknown
}

func (b *bar) Show(p sim.Progress) {
	text, n, of := b.Text(p)
	b.Line.Show(text, n, of)
}

// Text is what there is to say, and how much is done.
func (b *bar) Text(p sim.Progress) (text string, n, of int64) {
	if m := p.Minimising; m != nil {
		return fmt.Sprintf("minimising %s: %d runs, %s", m.Property, m.Runs,
			size(sim.Found{Clients: m.Clients, Faults: m.Faults, Steps: m.Steps})), int64(min(m.Runs, minimisingMax-1)), minimisingMax
	}
	text = fmt.Sprintf("%v %d episodes, %d with violations, %.0f/s", p.Elapsed.Round(time.Second), p.Episodes, p.Violations,
		float64(p.Episodes)/max(p.Elapsed.Seconds(), 1e-9))
	if p.Away > 0 {
		text += fmt.Sprintf("; no server answers since %v", p.Away.Round(time.Second))
	}
	if b.timed {
		return text, p.Elapsed.Milliseconds(), b.of
	}
	return text, int64(p.Episodes), int64(p.Of)
}
