package console

import (
	"fmt"
	"io"

	"github.com/zktorture/zktorture/internal/escape/stream"
	"github.com/zktorture/zktorture/sim"
)

// WantsColor reports whether an output is to be coloured, by the conventions of https://no-color.org,
// http://bixense.com/clicolors and https://force-color.org: NO_COLOR comes first, then CLICOLOR_FORCE and FORCE_COLOR;
// without them only a terminal is, unless it is dumb or CLICOLOR is 0.
func WantsColor(getenv func(string) string, terminal bool) bool {
	forced := func(name string) bool {
		v := getenv(name)
		return v != "" && v != "0" && v != "false"
	}
	switch {
	case getenv("NO_COLOR") != "":
		return false
	case forced("CLICOLOR_FORCE") || forced("FORCE_COLOR"):
		return true
	}
	return terminal && getenv("TERM") != "dumb" && getenv("CLICOLOR") != "0"
}

// style is an emphasis on a terminal: the parameters of ECMA-48, SGR.
type style string

const (
	Bold   style = "1"
	Faint  style = "2"
	Red    style = "1;31"
	green  style = "32"
	yellow style = "33"
)

// painted is a guarded output that can be coloured.
type painted struct {
	*stream.Writer
	bare io.Writer // the same, not guarded
}

// Paint prints a text, coloured if the output is a painted one.
func Paint(w io.Writer, s style, text string) {
	p, ok := w.(painted)
	if !ok || s == "" {
		fmt.Fprint(w, text)
		return
	}
	io.WriteString(p.bare, "\x1b["+string(s)+"m")
	fmt.Fprint(w, text)
	io.WriteString(p.bare, "\x1b[0m")
}

// PrintPainted prints a text that has its colours already, and nothing else that steers a terminal.
func PrintPainted(w io.Writer, text string) {
	if p, ok := w.(painted); ok {
		w = p.bare
	}
	io.WriteString(w, text)
}

// VerdictStyles are the styles of words that say how something ended.
var VerdictStyles = map[string]style{
	string(sim.VerdictOK): green, string(sim.VerdictViolation): Red, string(sim.VerdictUnknown): yellow,
	"VIOLATION": Red, "confirmed": Red, "yes": green, "no": Red, "missing": yellow, "needed": Red,
}

// PaintVerdict prints such a word.
func PaintVerdict(w io.Writer, word string) { Paint(w, VerdictStyles[word], word) }
