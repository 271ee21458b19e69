package torturecli

import (
	"fmt"
	"io"

	"github.com/zktorture/zktorture/internal/plaintext"
	"github.com/zktorture/zktorture/sim"
)

// wantsColor tells whether an output is to be coloured, by the conventions of https://no-color.org,
// http://bixense.com/clicolors and https://force-color.org: NO_COLOR comes first, then CLICOLOR_FORCE and FORCE_COLOR;
// without them only a terminal is, unless it is dumb or CLICOLOR is 0.
func wantsColor(getenv func(string) string, terminal bool) bool {
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
	bold   style = "1"
	faint  style = "2"
	red    style = "1;31"
	green  style = "32"
	yellow style = "33"
)

// painted is a guarded output that can be coloured.
type painted struct {
	*plaintext.Writer
	bare io.Writer // the same, not guarded
}

// paint prints a text, coloured if the output is a painted one.
func paint(w io.Writer, s style, text string) {
	p, ok := w.(painted)
	if !ok || s == "" {
		fmt.Fprint(w, text)
		return
	}
	io.WriteString(p.bare, "\x1b["+string(s)+"m")
	fmt.Fprint(w, text)
	io.WriteString(p.bare, "\x1b[0m")
}

// verdictStyles are the styles of words that say how something ended.
var verdictStyles = map[string]style{
	string(sim.VerdictOK): green, string(sim.VerdictViolation): red, string(sim.VerdictUnknown): yellow,
	"VIOLATION": red, "confirmed": red, "yes": green, "no": red, "missing": yellow, "needed": red,
}

// paintVerdict prints such a word.
func paintVerdict(w io.Writer, word string) { paint(w, verdictStyles[word], word) }
