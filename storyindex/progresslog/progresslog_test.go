package progresslog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/storyindex/progresslog"
)

// run draws the points of a run, up to a quarter of a second or up to an hour apart.
func run(t *rapid.T) (told []progresslog.Point) {
	n := rapid.SampledFrom([]int{0, 1, 2, 20, 50, 100, 200, 3 * progresslog.LinesMax}).Draw(t, "moments")
	step := rapid.SampledFrom([]float64{0.25, 2, 3600}).Draw(t, "step")
	draw := rapid.IntRange(0, 1000)
	p := progresslog.Point{}
	for i := range n {
		k := draw.Draw(t, "k")
		p.Time += float64(int(step*float64(k))) / 1000
		p.Episodes += int64(k % 7)
		p.Operations += int64(k)
		p.Faults = map[string]int64{"loss": p.Episodes / 2, "expiry": int64(i) / 3}
		p.Violations += int64(k / 999)
		told = append(told, p)
	}
	return told
}

// The file has a subsequence of the given points, the last among them. However long the run, they are not too many;
// where they are few they are a second apart.
func TestRecorder(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		name := filepath.Join(dir, fmt.Sprint(n, ".jsonl"))
		told := run(t)
		r := progresslog.NewRecorder(name)
		for _, p := range told {
			r.Add(p)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if len(told) == 0 {
			if _, err := os.Stat(name); err == nil {
				t.Fatal("there is a course of a run that told nothing")
			}
			return
		}
		check(t, told, read(t, name))
	})
}

func check(t *rapid.T, told, points []progresslog.Point) {
	if len(points) >= progresslog.LinesMax {
		t.Fatalf("%d lines", len(points))
	}
	if d := cmp.Diff(told[len(told)-1], points[len(points)-1], sameTime); d != "" {
		t.Fatalf("the last moment is another: %s", d)
	}
	at, before := 0, 0.0
	for i, p := range points {
		for at < len(told) && !cmp.Equal(told[at], p, sameTime) {
			at++
		}
		if at == len(told) {
			t.Fatalf("%+v was not told, or not then", p)
		}
		if i < len(points)-1 && p.Time-before < 0.9985 {
			t.Fatalf("%g s after %g s", p.Time, before)
		}
		before = p.Time
		at++
	}
	complete(t, told, points)
}

// complete checks that a run that fits into the file has a line for each second with a point.
func complete(t *rapid.T, told, points []progresslog.Point) {
	if len(told) >= progresslog.LinesMax {
		return
	}
	before := 0.0
	for _, p := range told[:len(told)-1] {
		if p.Time-before > 1.0015 {
			before = p.Time
			found := false
			for _, q := range points {
				found = found || q.Time > p.Time-1.0015 && q.Time < p.Time+0.0015
			}
			if !found {
				t.Fatalf("there is nothing of the second before %g s", p.Time)
			}
		}
	}
}

var sameTime = cmp.Comparer(func(a, b float64) bool { return a-b < 0.0015 && b-a < 0.0015 })

func read(t rapid.TB, name string) []progresslog.Point {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	points, err := progresslog.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// A run killed at any time leaves a readable progress log that lacks at most an eighth.
func TestKilled(t *testing.T) {
	name := filepath.Join(t.TempDir(), progresslog.Name)
	r := progresslog.NewRecorder(name)
	for i := 1; i < 5*progresslog.LinesMax; i++ {
		r.Add(progresslog.Point{Time: float64(i), Episodes: int64(i)})
		if i%97 != 0 && i%progresslog.LinesMax > 2 {
			continue
		}
		points := read(t, name)
		last := points[len(points)-1].Episodes
		if last > int64(i) || last < int64(i)-int64(i)/8 || i <= progresslog.LinesMax && last != int64(i) {
			t.Fatalf("after %d s the file ends with %d", i, last)
		}
		if even(points) > 2 {
			t.Fatalf("after %d s some moments are %g times as far from each other as others", i, even(points))
		}
		if len(points) >= progresslog.LinesMax || i > progresslog.LinesMax && len(points) < progresslog.LinesMax/4 {
			t.Fatalf("after %d s there are %d lines", i, len(points))
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) != 1 {
		t.Errorf("beside the course are %v: %v", entries, err)
	}
}

// even returns the ratio of the longest to the shortest interval.
func even(points []progresslog.Point) float64 {
	shortest, longest := math.Inf(1), 0.0
	for i := 1; i < len(points); i++ {
		shortest, longest = min(shortest, points[i].Time-points[i-1].Time), max(longest,
			points[i].Time-points[i-1].Time)
	}
	return longest / shortest
}

// A run goes on when its progress log cannot be written. An existing file is not overwritten.
func TestRecorderThatCannotWrite(t *testing.T) {
	name := filepath.Join(t.TempDir(), progresslog.Name)
	if err := os.WriteFile(name, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{name, filepath.Join(name, "below")} {
		r := progresslog.NewRecorder(name)
		for i := range 10 {
			r.Add(progresslog.Point{Time: float64(i)})
		}
		if err := r.Close(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error is %v", err)
		}
	}
	if data, err := os.ReadFile(name); string(data) != "mine" {
		t.Errorf("the file has become %q: %v", data, err)
	}
}

// A progress log that is cut off anywhere is read up to there.
func TestCutOff(t *testing.T) {
	var whole []byte
	var points []progresslog.Point
	for i := range 5 {
		points = append(points, progresslog.Point{Time: float64(i), Operations: int64(i * 10),
			Faults: map[string]int64{"loss": int64(i)}})
		line, err := json.Marshal(points[i])
		if err != nil {
			t.Fatal(err)
		}
		whole = append(append(whole, line...), '\n')
	}
	for n := range whole {
		got, err := progresslog.Read(bytes.NewReader(whole[:n]))
		lines := bytes.Count(whole[:n], []byte("\n"))
		if n+1 < len(whole) && whole[n] == '\n' || n+1 == len(whole) {
			lines++ // a line that only lacks its end
		}
		if d := cmp.Diff(points[:lines], got, cmp.Transformer("nil",
			func(p []progresslog.Point) string { return fmt.Sprint(p) })); d != "" {
			t.Fatalf("of the first %d bytes: %s", n, d)
		}
		if whole := n == 0 || whole[n] == '\n' || whole[n-1] == '\n'; (err == nil) != whole {
			t.Fatalf("of the first %d bytes: %v", n, err)
		}
	}
}

// Invalid progress logs are rejected, and the error names the line.
func TestNoCourse(t *testing.T) {
	good := `{"t_s":2,"episodes":5,"operations":5,"faults":{"loss":3},"violations":1}` + "\n"
	counts, longName := `{"t_s":3,"episodes":5,"operations":5,"violations":1`, strings.Repeat("x", 61)
	for line, want := range map[string]string{
		`{"t_s":1}`:                 "line 2: the time goes back from 2 to 1 seconds",
		`{"t_s":-1}`:                "line 2: -1 seconds is not a time of a run",
		`{"t_s":1e300}`:             "line 2: 1e+300 seconds is not a time of a run",
		`{"t_s":1e999}`:             "line 2: not a line of a progress log, or cut off",
		`{"episodes":9}`:            "line 2: not a line of a progress log: it has no t_s",
		`{"t_s":3,"episodes":1e30}`: "line 2: not a line of a progress log",
		`{"t_s":3,"episodes":4,"operations":5,"violations":1}`:  "line 2: episodes fall from 5 to 4",
		`{"t_s":3,"episodes":5,"operations":-5,"violations":1}`: "line 2: operations fall from 5 to -5",
		`{"t_s":3,"episodes":5,"operations":5}`:                 "line 2: violations fall from 1 to 0",
		counts + `,"faults":{"loss":2}}`:                        "line 2: strikes of loss fall from 3 to 2",
		counts + `,"faults":{"crash":-1}}`:                      "line 2: strikes of crash fall from 0 to -1",
		counts + `,"faults":{"` + longName + `":2}}`: "line 2: " +
			"the name of a fault has 61 bytes, and 60 are the most",
		`[1]`:                                    "line 2: not a line of a progress log",
		`{"t_s":3,"faults":{` + many(101) + `}}`: "line 2: it has 102 kinds of faults, and 100 are the most",
		strings.Repeat(" ", 1<<17):               "after 1 lines: a line is longer than 65536 bytes",
		strings.Repeat("{\"t_s\":2,\"episodes\":5,\"operations\":5,\"violations\":1}\n",
			5*progresslog.LinesMax): "it has more than 10000 lines",
	} {
		points, err := progresslog.Read(strings.NewReader(good + line))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80s: the error is %v, not %s", line, err, want)
		}
		if len(points) == 0 || points[0].Episodes != 5 {
			t.Errorf("%.80s: what came before is %.80v", line, points)
		}
	}
}

func many(n int) string {
	var kinds []string
	for i := range n {
		kinds = append(kinds, fmt.Sprintf(`"k%d":1`, i))
	}
	return strings.Join(kinds, ",")
}

// A kind missing from a line has struck as often as before.
func TestUnnamedKind(t *testing.T) {
	points, err := progresslog.Read(strings.NewReader(
		`{"t_s":1,"faults":{"loss":3}}` + "\n\n" + `{"t_s":2,"faults":{"crash":1}}`))
	want := []progresslog.Point{{Time: 1, Faults: map[string]int64{"loss": 3}},
		{Time: 2, Faults: map[string]int64{"loss": 3, "crash": 1}}}
	if d := cmp.Diff(want, points); d != "" || err != nil {
		t.Errorf("%s: %v", d, err)
	}
}
