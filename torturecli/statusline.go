package torturecli

import (
	"time"

	"github.com/cheggaaa/pb/v3"
	"github.com/cheggaaa/pb/v3/termutil"
)

// line is the line of a terminal that says how far a command is. Elsewhere nothing is shown.
type line struct{ *pb.ProgressBar }

const lineEvery = 100 * time.Millisecond

// newLine shows a line of a form, see package pb; its text is {{string . "text"}}.
func newLine(c *commandContext, quiet bool, form string) line {
	if quiet || !c.terminal {
		return line{}
	}
	p := pb.New(0).SetTemplateString(form).SetWriter(c.bare.err).SetRefreshRate(lineEvery)
	if width, err := termutil.TerminalWidth(); err == nil && width == 0 { // a terminal that does not know its size
		p.SetWidth(columns)
	}
	return line{p.Set(pb.Terminal, true).Set(pb.ReturnSymbol, "\r").Set(pb.CleanOnFinish, true).Start()}
}

// show says a text, and that n of so many are done.
func (l line) show(text string, n, of int64) {
	if l.ProgressBar != nil {
		l.Set("text", text).SetTotal(of).SetCurrent(n)
	}
}

// above does something that prints, without the line.
func (l line) above(do func()) {
	if l.ProgressBar == nil {
		do()
		return
	}
	l.Finish()
	defer l.Start()
	do()
}

// end removes the line.
func (l line) end() {
	if l.ProgressBar != nil {
		l.Finish()
	}
}
