package storyindex

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/storyindex/progresslog"
)

// figuresMax bounds the figures of a page.
const figuresMax = 100

// figure is a group of plots under a title.
type figure struct {
	Title string `json:"title"`
	File  string `json:"file"` // the source, if it is one file …
	Link  string `json:"href"` // … and its address
	Plots []plot `json:"plots"`
}

// plot is a plot of some series over the same x.
type plot struct {
	Title  string   `json:"title"`
	Label  string   `json:"label"`           // of y
	X      string   `json:"x"`               // of x
	Log    bool     `json:"log"`             // y is logarithmic
	Names  []string `json:"names,omitempty"` // of the values on x, if they are not numbers
	Series []string `json:"series"`
	Data   [][]any  `json:"data"` // x, then each series; null for no value
	Marks  []mark   `json:"marks,omitempty"`
}

// mark is a marked moment of a plot.
type mark struct {
	X     float64 `json:"x"`
	Label string  `json:"label"`
}

// figures are the drawn figures, and the number of the others.
func (x *Index) figures() (drawn []figure, more int) {
	if p := x.episodes(); len(p.Names) > 0 {
		drawn = append(drawn, figure{Title: "hunts of the zoo", Plots: []plot{p}})
	}
	for _, c := range x.ProgressLogs {
		drawn = append(drawn, x.ofProgressLog(c))
	}
	for _, h := range x.Histories {
		if beside := x.figureOf(h, drawn); beside != nil {
			beside.Plots = append(beside.Plots, h.plot())
		} else if !h.Part {
			drawn = append(drawn, figure{Title: h.File, File: h.File, Plots: []plot{h.plot()}})
		}
	}
	n := min(len(drawn), figuresMax)
	for i := range drawn[:n] {
		drawn[i].Link = (&url.URL{Path: "./" + drawn[i].File}).String()
	}
	return drawn[:n], len(drawn) - n
}

// figureOf returns the figure of the run that wrote a history.
func (x *Index) figureOf(h History, drawn []figure) *figure {
	i := slices.IndexFunc(drawn,
		func(f figure) bool { return h.Nanos && !h.Part && path.Dir(f.File) == path.Dir(h.File) })
	if i < 0 {
		return nil
	}
	return &drawn[i]
}

// episodes plots the episodes that each animal took, a series for each hunt.
func (x *Index) episodes() plot {
	p := plot{Title: "episodes until an animal of the zoo was found", Label: "episodes", X: "animal", Log: true,
		Series: []string{}}
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

// ofProgressLog plots the progress of a run: operations a second, and strikes of faults if there were some.
func (x *Index) ofProgressLog(c ProgressLog) figure {
	f := figure{Title: path.Dir(c.File), File: c.File}
	if r := x.beside(c.File); r != nil && r.Workload != "" {
		f.Title = r.Title()
	}
	u := unitOf(c.last().Time)
	marks := c.marks(u)
	f.Plots = []plot{speed(c.Points, u)}
	if p := strikes(c.Points, u); len(p.Series) > 0 {
		f.Plots = append(f.Plots, p)
	}
	for i := range f.Plots {
		f.Plots[i].Marks = marks
	}
	return f
}

// marks marks when each property was first seen broken.
func (c ProgressLog) marks(u unit) []mark {
	if c.Broken == 0 {
		return nil
	}
	return []mark{{u.of(c.Broken), "first violation"}}
}

// speed plots operations a second, the mean over each slice.
func speed(points []progresslog.Point, u unit) plot {
	times, rates := []any{}, []any{}
	before := progresslog.Point{}
	for _, p := range points {
		if p.Time <= before.Time {
			continue
		}
		rate := float64(p.Operations-before.Operations) / (p.Time - before.Time)
		times, rates = append(times, u.of(before.Time), u.of(p.Time)), append(rates, rate, rate)
		before = p
	}
	return plot{Title: "operations a second", Label: "operations/s", X: u.name, Series: []string{"operations/s"},
		Data: [][]any{times, rates}}
}

// kindsShown is how many kinds of faults have lines of their own if there are more than kindsMax.
const (
	kindsMax   = 8
	kindsShown = kindsMax - 1
)

// strikes plots how often each kind of fault had struck by when. If there are many kinds, the rarest share a line.
func strikes(points []progresslog.Point, u unit) plot {
	p := plot{Title: "faults struck, in all", Label: "strikes so far", X: u.name, Series: []string{},
		Data: [][]any{{u.of(0)}}}
	for _, point := range points {
		p.Data[0] = append(p.Data[0], u.of(point.Time))
	}
	for _, kinds := range lines(points[len(points)-1].Faults) {
		column := []any{int64(0)}
		for _, point := range points {
			column = append(column, sum(point.Faults, kinds))
		}
		p.Series, p.Data = append(p.Series, nameOf(kinds)), append(p.Data, column)
	}
	return p
}

// lines divides the kinds of faults that struck into lines, the most frequent first.
func lines(struck map[string]int64) (parts [][]string) {
	kinds := slices.SortedFunc(maps.Keys(struck),
		func(a, b string) int { return cmp.Or(cmp.Compare(struck[b], struck[a]), cmp.Compare(a, b)) })
	kinds = slices.DeleteFunc(kinds, func(kind string) bool { return struck[kind] == 0 })
	var rest []string
	if len(kinds) > kindsMax {
		kinds, rest = kinds[:kindsShown], kinds[kindsShown:]
	}
	for _, kind := range kinds {
		parts = append(parts, []string{kind})
	}
	if len(rest) > 0 {
		parts = append(parts, rest)
	}
	return parts
}

// namedMax is the most kinds on one line that are named.
const namedMax = 4

func nameOf(kinds []string) string {
	if len(kinds) > namedMax {
		return fmt.Sprintf("%d others", len(kinds))
	}
	return strings.Join(kinds, " + ")
}

func sum(struck map[string]int64, kinds []string) (n int64) {
	for _, kind := range kinds {
		n += struck[kind]
	}
	return n
}

// unit is the unit of times in a plot.
type unit struct {
	name    string
	seconds float64
}

func (u unit) of(seconds float64) float64 { return seconds / u.seconds }

// unitOf chooses the unit for a duration in seconds.
func unitOf(seconds float64) unit {
	switch {
	case seconds <= 5*60:
		return unit{"seconds", 1}
	case seconds <= 5*3600:
		return unit{"minutes", 60}
	case seconds <= 5*86400:
		return unit{"hours", 3600}
	}
	return unit{"days", 86400}
}

// plot plots the outcomes of a history, in operations a second if the unit of its stamps is known.
func (h History) plot() plot {
	u, slice, label := unit{"stamps", 1}, 1.0, "operations"
	if h.Nanos {
		slice, label = h.Outcomes.Slice/1e9, "operations/s"
		u = unitOf(slice * float64(len(h.Outcomes.Begin)))
		u.seconds *= 1e9
	}
	p := plot{Title: "outcomes of operations", Label: label, X: u.name, Series: []string{"ok", "failed", "unknown"},
		Data: [][]any{{}}}
	for _, begin := range h.Outcomes.Begin {
		p.Data[0] = append(p.Data[0], u.of(begin))
	}
	for _, counts := range [][]int{h.Outcomes.OK, h.Outcomes.Fail, h.Outcomes.Lost} {
		p.Data = append(p.Data, rates(counts, slice))
	}
	return p
}

func rates(counts []int, slice float64) []any {
	column := make([]any, len(counts))
	for i, n := range counts {
		column[i] = float64(n) / slice
	}
	return column
}
