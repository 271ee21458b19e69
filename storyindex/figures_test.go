package storyindex_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/storyindex"
	"github.com/zktorture/zktorture/storyindex/progresslog"
)

// aCourse is a progress log with a line a second. Each kind of fault strikes twice as often as the next, and a
// property breaks after a minute.
func aCourse(seconds int, kinds ...string) string {
	var out strings.Builder
	operations := 0
	for i := 1; i <= seconds; i++ {
		operations += 1000 + i%7*100
		p := progresslog.Point{Time: float64(i), Episodes: int64(i), Operations: int64(operations),
			Faults: map[string]int64{}}
		for k, kind := range kinds {
			p.Faults[kind] = int64(i*1000) >> k
		}
		p.Violations = int64(i / 60)
		out.WriteString(line(p))
	}
	return out.String()
}

func line(p progresslog.Point) string {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

// figure is a figure of the page.
type figure struct {
	Title, File, Href string
	Plots             []struct {
		Title, Label, X string
		Series          []string
		Data            [][]float64
		Marks           []struct {
			X     float64
			Label string
		}
	}
}

var dataOf = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

// built makes the index of a folder with the files and returns it with the figures of its page.
func built(t rapid.TB, dir string, files map[string]string, o storyindex.Options) (*storyindex.Index, []figure) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	index, err := storyindex.Build(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, storyindex.Name))
	if err != nil {
		t.Fatal(err)
	}
	var figures []figure
	if m := dataOf.FindSubmatch(page); m != nil {
		if err := json.Unmarshal(m[1], &figures); err != nil {
			t.Fatal(err)
		}
	}
	return index, figures
}

// seconds is the length of the units of a plot.
var seconds = map[string]float64{"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}

// The plots of any progress log show all its operations and strikes, in few points and lines.
func TestCourseIsDrawnWhole(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text, last := drawCourse(t)
		_, figures := built(t, dir, map[string]string{progresslog.Name: text}, storyindex.Options{})
		if len(figures) != 1 || len(figures[0].Plots) == 0 {
			t.Fatalf("%d figures", len(figures))
		}
		for i, p := range figures[0].Plots {
			for _, column := range p.Data {
				if len(column) != len(p.Data[0]) || len(column) > 400 {
					t.Fatalf("the columns of plot %d have %d and %d points", i, len(p.Data[0]), len(column))
				}
			}
			if !slices.IsSorted(p.Data[0]) || p.Data[0][0] != 0 {
				t.Fatalf("plot %d goes back in time: %v", i, p.Data[0])
			}
			if end := p.Data[0][len(p.Data[0])-1] * seconds[p.X]; math.Abs(end-last.Time) > 1e-6*last.Time {
				t.Fatalf("plot %d ends at %g s, the course at %g s", i, end, last.Time)
			}
		}
		speed := figures[0].Plots[0]
		if n := area(speed.Data) * seconds[speed.X]; math.Abs(n-float64(last.Operations)) > 1e-6*n+0.1 {
			t.Fatalf("%g operations are drawn, and there were %d", n, last.Operations)
		}
		drawnStrikes(t, figures[0], last)
	})
}

// drawCourse draws a progress log, and returns its last point.
func drawCourse(t *rapid.T) (string, progresslog.Point) {
	kinds := []string{"loss", "expiry", "watch", "lag", "pause", "time", "wrap", "reap", "cancel",
		"crash"}[:rapid.IntRange(0, 10).Draw(t, "kinds")]
	scale := rapid.SampledFrom([]float64{0.001, 0.5, 100, 10_000}).Draw(t, "scale")
	var out strings.Builder
	p := progresslog.Point{}
	for i := range rapid.SampledFrom([]int{1, 2, 3, 30, 30, 300}).Draw(t, "moments") {
		k := rapid.IntRange(0, 20).Draw(t, "step")
		if i == 0 {
			k++
		}
		p.Time += float64(k) * scale
		p.Operations += int64(k * k)
		p.Faults = map[string]int64{}
		for j, kind := range kinds {
			p.Faults[kind] = p.Operations * int64(j*3%10)
		}
		out.WriteString(line(p))
	}
	return out.String(), p
}

// area is the sum under the first series.
func area(data [][]float64) (sum float64) {
	for i := 1; i < len(data[0]); i++ {
		sum += (data[0][i] - data[0][i-1]) * (data[1][i] + data[1][i-1]) / 2
	}
	return sum
}

func drawnStrikes(t *rapid.T, f figure, last progresslog.Point) {
	var struck, drawn int64
	kinds := 0
	for _, n := range last.Faults {
		struck += n
		if n > 0 {
			kinds++
		}
	}
	if kinds == 0 {
		if len(f.Plots) != 1 {
			t.Fatalf("no fault struck, and there are %d plots", len(f.Plots))
		}
		return
	}
	p := f.Plots[1]
	for i, column := range p.Data[1:] {
		drawn += int64(column[len(column)-1])
		if !slices.IsSorted(column) || column[0] != 0 {
			t.Fatalf("strikes of %s are %v", p.Series[i], column)
		}
	}
	if drawn != struck || len(p.Series) != min(kinds, 8) || len(p.Data) != len(p.Series)+1 {
		t.Fatalf("%d strikes of %d kinds are drawn as %d in the lines %q", struck, kinds, drawn, p.Series)
	}
}

// Of many kinds of faults the most frequent have lines of their own, the others share one. The first violation is
// marked.
func TestManyKindsOfFaults(t *testing.T) {
	kinds := strings.Split("abcdefghij", "")
	_, figures := built(t, t.TempDir(), map[string]string{"x/course.jsonl": aCourse(600, kinds...)},
		storyindex.Options{})
	p := figures[0].Plots[1]
	if got, want := fmt.Sprint(p.Series), "[a b c d e f g h + i + j]"; got != want {
		t.Errorf("the lines are %s, not %s", got, want)
	}
	if p.X != "minutes" || len(p.Marks) != 1 || p.Marks[0].X != 1 || len(figures[0].Plots[0].Marks) != 1 {
		t.Errorf("in %s the marks are %v", p.X, p.Marks)
	}
	if figures[0].Title != "x" || figures[0].Href != "./x/course.jsonl" {
		t.Errorf("the figure of a run without a result is called %q with the link %q",
			figures[0].Title, figures[0].Href)
	}
}

// Every operation of a history is plotted once, with its outcome, whatever the stamps are.
func TestHistoryIsDrawnWhole(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		stamps := rapid.SampledFrom([]*rapid.Generator[int64]{rapid.Int64Range(0, 5), rapid.Int64Range(0, 1e12),
			rapid.Int64()}).Draw(t, "stamps")
		outcomes := map[linearizability.Outcome]int{}
		var h linearizability.History
		for i := range rapid.SampledFrom([]int{1, 10, 10, 10, 1500}).Draw(t, "operations") {
			o := linearizability.Operation{Client: i, Op: "poll",
				Outcome: rapid.SampledFrom([]linearizability.Outcome{linearizability.OK, linearizability.Fail,
					linearizability.Unknown}).Draw(t, "outcome")}
			o.Call, o.Return = stamps.Draw(t, "call"), stamps.Draw(t, "return")
			outcomes[o.Outcome]++
			h = append(h, o)
		}
		var text strings.Builder
		if err := linearizability.Write(&text, h); err != nil {
			t.Fatal(err)
		}
		index, figures := built(t, dir, map[string]string{"h.jsonl": text.String()}, storyindex.Options{})
		if len(index.Histories) != 1 || index.Histories[0].Count != len(h) ||
			index.Histories[0].Verdict != storyindex.NotJudged {
			t.Fatalf("the histories are %+v, the problems %v", index.Histories, index.Problems)
		}
		p := figures[0].Plots[0]
		for i, o := range []linearizability.Outcome{linearizability.OK, linearizability.Fail, linearizability.Unknown} {
			if n := total(p.Data[i+1]); n != outcomes[o] {
				t.Fatalf("%d operations were %v, and %d are drawn as %s", outcomes[o], o, n, p.Series[i])
			}
		}
		if p.X != "stamps" || !slices.IsSorted(p.Data[0]) || len(p.Data[0]) > 120 {
			t.Fatalf("%d %s: %v", len(p.Data[0]), p.X, p.Data[0])
		}
	})
}

func total(counts []float64) (n int) {
	for _, c := range counts {
		n += int(c)
	}
	return n
}

// The history of a run on real servers is plotted in the run's figure, in operations a second.
func TestHistoryBesideItsCourse(t *testing.T) {
	files := map[string]string{
		"a/course.jsonl":  aCourse(30),
		"a/history.jsonl": history(t, 5000),
		"a/result.json": `{"workload":"queue","recipe":"ours","backend":"ensemble","strategy":"random","seed":7,` +
			`"verdict":"ok","violations":[{"property":"orphan","file":"a/round.jsonl"}]}`,
		"a/mine.jsonl":  history(t, 300), // not known to be of the run
		"a/round.jsonl": history(t, 10),  // part of the run's history, not plotted again
	}
	_, figures := built(t, t.TempDir(), files, storyindex.Options{})
	if len(figures) != 2 || len(figures[0].Plots) != 2 || len(figures[1].Plots) != 1 ||
		figures[1].Title != "a/mine.jsonl" || figures[0].Title != "queue (ours) on ensemble, random, seed 7" {
		t.Fatalf("drawn are %+v", figures)
	}
	p := figures[0].Plots[1]
	if rate := p.Data[1][5]; p.Label != "operations/s" || p.X != "seconds" || rate < 850 || rate > 950 {
		t.Errorf("900 operations a second of 1000 were ok; drawn are %g %s", rate, p.Label)
	}
}

// Rates are not plotted for slices much shorter than others, such as the last fraction of a second.
func TestShortSlices(t *testing.T) {
	for _, text := range []string{aCourse(10), aCourse(119), aCourse(600)} {
		last := progresslog.Point{Time: 0.01 + float64(strings.Count(text, "\n")), Episodes: 1e6,
			Operations: 1e9, Violations: 1e3}
		index, figures := built(t, t.TempDir(), map[string]string{progresslog.Name: text + line(last)},
			storyindex.Options{})
		if len(index.Problems) > 0 {
			t.Fatal(index.Problems)
		}
		p := figures[0].Plots[0]
		mean := p.Data[0][len(p.Data[0])-1] / float64(len(p.Data[0])/2)
		for i := 0; i < len(p.Data[0]); i += 2 {
			if slice := p.Data[0][i+1] - p.Data[0][i]; slice < mean/2 {
				t.Errorf("at %g %s there is a slice of %g, and they have %g on the average",
					p.Data[0][i], p.X, slice, mean)
			}
		}
	}
}

// A page has at most figuresMax figures and says how many others there are.
func TestManyFigures(t *testing.T) {
	files := map[string]string{}
	for i := range 120 {
		files[fmt.Sprintf("%d/course.jsonl", i)] = aCourse(2)
	}
	dir := t.TempDir()
	index, figures := built(t, dir, files, storyindex.Options{})
	if len(index.ProgressLogs) != 120 || len(figures) != 100 ||
		!strings.Contains(read(t, filepath.Join(dir, storyindex.Name)), "There are 20 more") {
		t.Errorf("of %d courses %d are drawn", len(index.ProgressLogs), len(figures))
	}
}
