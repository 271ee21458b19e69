package storyindex

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
)

//go:embed page
var assets embed.FS

var pageTemplate = template.Must(template.ParseFS(assets, "page/index.html"))

// page is what the template fills in.
type page struct {
	*Index
	Style  template.CSS
	Script template.JS
	Data   template.JS
}

// write writes the page of an index.
func (x *Index) write(w io.Writer) error {
	data, err := json.Marshal(x.plots()) // escapes <, > and &, so that no text can end the script
	if err != nil {
		return fmt.Errorf("storyindex: %w", err)
	}
	p := page{Index: x, Style: template.CSS(asset("uplot.css") + asset("index.css")), Data: template.JS(data)}
	if len(x.plots()) > 0 {
		p.Script = template.JS(asset("uplot.js") + asset("index.js"))
	}
	return pageTemplate.Execute(w, p)
}

func asset(name string) string {
	data, err := assets.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it was embedded when this was compiled
	}
	return string(data)
}

// plot is a picture of some series over the same x.
type plot struct {
	Title  string   `json:"title"`
	Label  string   `json:"label"`           // of y
	X      string   `json:"x"`               // of x
	Log    bool     `json:"log"`             // y is logarithmic
	Names  []string `json:"names,omitempty"` // of the values on x, if they are no numbers
	Series []string `json:"series"`
	Data   [][]any  `json:"data"` // x, then each series; null where there is no value
}

func (x *Index) plots() (plots []plot) {
	if p := x.episodes(); len(p.Names) > 0 {
		plots = append(plots, p)
	}
	for _, c := range x.Courses {
		plots = append(plots, c.plot())
	}
	return plots
}

// episodes draws how many episodes each animal took, a series for each hunt.
func (x *Index) episodes() plot {
	p := plot{Title: "episodes until an animal of the zoo was found", Label: "episodes", X: "animal", Log: true, Series: []string{}}
	at := map[string]int{}
	for _, h := range x.Hunts {
		for _, a := range h.Animals {
			if _, known := at[a.ID]; !known {
				at[a.ID] = len(p.Names)
				p.Names = append(p.Names, a.ID)
			}
		}
	}
	p.Data = [][]any{make([]any, len(p.Names))}
	for i := range p.Names {
		p.Data[0][i] = i
	}
	for _, h := range x.Hunts {
		column := make([]any, len(p.Names))
		for _, a := range h.Animals {
			if a.Found {
				column[at[a.ID]] = max(a.Episodes, 1)
			}
		}
		p.Series, p.Data = append(p.Series, h.File), append(p.Data, column)
	}
	return p
}

// plot draws a course in operations a second.
func (c Course) plot() plot {
	p := plot{Title: fmt.Sprintf("operations over time: %s, %d in all", c.File, c.Count), Label: "operations/s", X: "seconds", Series: []string{"ok", "failed", "unknown"}}
	begin := make([]any, len(c.Begin))
	for i, t := range c.Begin {
		begin[i] = t
	}
	p.Data = [][]any{begin}
	for _, counts := range [][]int{c.OK, c.Fail, c.Lost} {
		column := make([]any, len(counts))
		for i, n := range counts {
			column[i] = float64(n) / c.Slice
		}
		p.Data = append(p.Data, column)
	}
	return p
}

// Struck lists the faults of a run with how often they struck, by name.
func (r Run) Struck() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		if n := r.Faults[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, n))
		}
	}
	return strings.Join(parts, ", ")
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
