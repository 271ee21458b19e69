package operators

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/live"
)

// span is a part of a run.
type span struct{ from, to int64 }

// bands are when servers were hurt or had not yet been well again for a while, in order and apart.
func (r *Run) bands() (bands []span) {
	for _, s := range slices.SortedFunc(slices.Values(r.Hurts), func(a, b live.ServerStrike) int { return cmp.Compare(a.At, b.At) }) {
		to := cmp.Or(s.Well, r.End)
		if n := len(bands); n > 0 && s.At <= bands[n-1].to {
			bands[n-1].to = max(bands[n-1].to, to)
			continue
		}
		bands = append(bands, span{s.At, to})
	}
	return bands
}

// within reports whether a part of s is in bands.
func (s span) within(bands []span) bool {
	i, _ := slices.BinarySearchFunc(bands, s.from, func(b span, at int64) int { return cmp.Compare(b.to, at) })
	return i < len(bands) && bands[i].from <= s.to
}

func where(s span, bands []span) string {
	if s.within(bands) {
		return "while servers were hurt"
	}
	return "while no server was hurt"
}

// silence is the longest time in which operations were under way and none was answered.
func (r *Run) silence() (longest span) {
	type event struct {
		at       int64
		more     int
		answered bool
	}
	var events []event
	for _, o := range r.operations {
		if o.end > o.call {
			events = append(events, event{o.call, 1, false}, event{o.end, -1, o.answered})
		}
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	var since int64
	under := 0 // way
	for _, e := range events {
		if under == 0 {
			since = e.at
		}
		if under += e.more; (e.answered || under == 0) && e.at-since > longest.to-longest.from {
			longest = span{since, e.at}
		}
		if e.answered {
			since = e.at
		}
	}
	return longest
}

// latency is how long operations of one name took.
type latency struct {
	Op         string
	Well, Hurt figures
	Unknown    int // without an answer
}

// figures are those of operations that were answered.
type figures struct {
	Count         int
	P50, P99, Max int64
}

// latencies sorts operations by name, and by whether servers were hurt meanwhile.
func latencies(operations []operation, bands []span) (all []latency) {
	durations, unknown := map[string]*[2][]int64{}, map[string]int{}
	for _, o := range operations {
		of := durations[o.name]
		if of == nil {
			of = &[2][]int64{}
			durations[o.name] = of
		}
		switch at := (span{o.call, o.end}); {
		case !o.answered:
			unknown[o.name]++
		case at.within(bands):
			of[1] = append(of[1], o.end-o.call)
		default:
			of[0] = append(of[0], o.end-o.call)
		}
	}
	for name, of := range durations {
		all = append(all, latency{name, summed(of[0]), summed(of[1]), unknown[name]})
	}
	slices.SortFunc(all, func(a, b latency) int { return strings.Compare(a.Op, b.Op) })
	return all
}

// summed sorts durations.
func summed(d []int64) figures {
	if len(d) == 0 {
		return figures{}
	}
	slices.Sort(d)
	return figures{len(d), quantile(d, .5), quantile(d, .99), d[len(d)-1]}
}

// quantile is the least of sorted durations that a share of them does not exceed.
func quantile(d []int64, share float64) int64 {
	return d[max(int(math.Ceil(share*float64(len(d))))-1, 0)]
}

// chart is a picture with time to the right. Its width is that of the page, so x is in percent; y is in pixels.
type chart struct {
	Height int
	Plot   int // height of the plot of latencies, which is at the top
	Bands  []box
	Bars   []box
	Levels []label
	Times  []label
	Tracks []track
	Column string // how long a column of the plot is
}

type track struct {
	Name  string
	Y     int
	Boxes []box
}

type box struct {
	X, Width    float64
	Y, Height   float64
	Class       string
	Title, Text string
}

// Middle is where a box's text is.
func (b box) Middle() float64 { return b.X + b.Width/2 }

type label struct {
	X      float64
	Y      float64
	Anchor string
	Text   string
}

// Sizes of a chart.
const (
	columns     = 60
	plotHeight  = 200
	trackHeight = 18
	trackStep   = 44
	ticksMax    = 240 // places for what has no length
	legible     = 5   // percent of the width that a text of a few letters takes
)

// draw draws latencies over time, and below them what happened.
func draw(r *Run, reigns []row, bands []span) *chart {
	c := &chart{Plot: plotHeight, Column: took(r.End / columns)}
	percent := func(at int64) float64 { return math.Round(float64(at)/float64(r.End)*1e4) / 100 }
	between := func(from, to int64, class, title string) box {
		return box{X: percent(from), Width: max(percent(to)-percent(from), .2), Height: trackHeight, Class: class, Title: title}
	}
	for _, b := range bands {
		c.Bands = append(c.Bands, between(b.from, b.to, "", ""))
	}
	c.plot(r)
	for i := range 5 {
		at := label{X: float64(i) * 25, Anchor: "middle", Text: secs(r.End * int64(i) / 4)}
		switch i {
		case 0:
			at.Anchor = "start"
		case 4:
			at.Anchor = "end"
		}
		c.Times = append(c.Times, at)
	}
	var led, hurts []box
	for _, now := range reigns {
		b := between(now.At, now.Until, "none", "nobody led")
		if now.Server != "" {
			b.Class, b.Title = "leads", fmt.Sprintf("%s led, epoch %d", now.Server, now.Epoch)
			if b.Width >= legible {
				b.Text = strings.TrimPrefix(now.Server, "server.")
			}
		}
		b.Title += fmt.Sprintf(", %s to %s", secs(now.At), secs(now.Until))
		led = append(led, b)
	}
	for _, s := range r.Hurts {
		well := cmp.Or(s.Well, r.End)
		over := min(s.At+s.ForMS*1e6, well) // earlier than planned if the run ended
		title := fmt.Sprintf("%v of %s at %s", s.Kind, s.Whom, secs(s.At))
		hurts = append(hurts, between(over, well, "heals", "after "+title), between(s.At, over, "on", title))
	}
	var struck, unknown []int64
	for _, s := range r.Strikes {
		struck = append(struck, s.At)
	}
	for _, o := range r.operations {
		if !o.answered {
			unknown = append(unknown, o.call)
		}
	}
	c.track("who led: the number of the server", led)
	c.track("faults of servers, and until all were well", hurts)
	c.track("faults of clients", ticks(struck, r.End))
	c.track("operations of unknown outcome", ticks(unknown, r.End))
	return c
}

// track adds what happened, if anything did.
func (c *chart) track(name string, boxes []box) {
	if c.Height == 0 {
		c.Height = c.Plot + 24 // of the times
	}
	if len(boxes) > 0 {
		c.Tracks = append(c.Tracks, track{name, c.Height, boxes})
		c.Height += trackStep
	}
}

// ticks are moments, as far as they can be told apart.
func ticks(moments []int64, end int64) (boxes []box) {
	var there [ticksMax]bool
	for _, at := range moments {
		there[min(at*ticksMax/end, ticksMax-1)] = true
	}
	for i, is := range there {
		if is {
			boxes = append(boxes, box{X: float64(i) * 100 / ticksMax, Width: 60. / ticksMax, Height: trackHeight, Class: "tick"})
		}
	}
	return boxes
}

// plot draws a bar from p50 to p99 for each column, above a scale of powers of ten.
func (c *chart) plot(r *Run) {
	var all [columns][]int64
	for _, o := range r.operations {
		if o.answered {
			i := min(o.end*columns/r.End, columns-1)
			all[i] = append(all[i], o.end-o.call)
		}
	}
	low, high := math.Inf(1), math.Inf(-1)
	var of [columns]figures
	for i, d := range all {
		if of[i] = summed(d); len(d) > 0 {
			low, high = min(low, math.Log10(float64(max(of[i].P50, 1)))), max(high, math.Log10(float64(max(of[i].P99, 1))))
		}
	}
	low, high = math.Floor(low), math.Ceil(high)
	if high <= low {
		high = low + 1
	}
	y := func(ns int64) float64 {
		return math.Round(plotHeight * (high - math.Log10(float64(max(ns, 1)))) / (high - low))
	}
	for i, f := range of {
		if f.Count > 0 {
			c.Bars = append(c.Bars, box{X: float64(i) * 100 / columns, Width: 75. / columns, Y: y(f.P99), Height: max(y(f.P50)-y(f.P99), 2),
				Title: fmt.Sprintf("p50 %s, p99 %s of %d", took(f.P50), took(f.P99), f.Count)})
		}
	}
	for level := low; level <= high; level++ {
		ns := int64(math.Pow(10, level))
		c.Levels = append(c.Levels, label{Y: y(ns), Text: took(ns)})
	}
}
