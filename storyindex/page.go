package storyindex

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/zktorture/zktorture/internal/csp"
	"github.com/zktorture/zktorture/internal/webpage"
)

//go:embed page
var assets embed.FS

var pageTemplate = template.Must(template.New("index.html").Funcs(template.FuncMap{"count": count}).ParseFS(assets,
	"page/index.html"))

// page is the data of the template.
type page struct {
	*Index
	Style   template.CSS
	Script  template.JS
	Scripts string // hashes of the allowed scripts
	Data    template.JS
	More    int // figures that are left out
}

// write writes the page of an index.
func (x *Index) write(w io.Writer) error {
	figures, more := x.figures()
	data, err := json.Marshal(figures) // escapes <, > and &, so that no text can end the script
	if err != nil {
		return fmt.Errorf("storyindex: %w", err)
	}
	p := page{Index: x, Style: template.CSS(webpage.UPlotStyle + webpage.Look + asset("index.css")),
		Data: template.JS(data), More: more}
	if len(figures) > 0 {
		p.Script = template.JS(webpage.UPlot + asset("index.js"))
	}
	p.Scripts = csp.Script(string(p.Script))
	return pageTemplate.Execute(w, p)
}

func asset(name string) string {
	data, err := assets.ReadFile("page/" + name)
	if err != nil {
		panic(err) // embedded at compile time
	}
	return string(data)
}

// count prints a whole number, in groups of three digits.
func count(n any) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Empty tells whether there is nothing to show.
func (x *Index) Empty() bool {
	results := len(x.Violations) + len(x.Runs) + len(x.Histories) + len(x.Hunts) + len(x.ProgressLogs)
	return results+len(x.Documents)+len(x.Problems) == 0
}

// Missed lists the animals that were not found and those whose twins were accused.
func (h Hunt) Missed() string {
	var missed []string
	for _, a := range h.Animals {
		if !a.Found {
			missed = append(missed, a.ID+" was not found")
		}
		if !a.Clean {
			missed = append(missed, "the twin of "+a.ID+" is accused")
		}
	}
	return strings.Join(missed, ", ")
}
