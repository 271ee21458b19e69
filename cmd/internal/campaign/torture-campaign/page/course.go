package page

import (
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
)

// course is how a campaign went, thinned out: the longer it goes on the further its points are apart.
type course struct {
	gap    time.Duration // between points, at least
	points []point
}

// point is a moment of a course.
type point struct {
	at                                time.Duration // since the campaign began
	episodes, broken, unknown, worker int
}

// pointsMax bounds the points of a course.
const pointsMax = 480

// add adds a moment. If the clock was put back, what came after that moment is forgotten.
func (c *course) add(s status.Status, j Judgement) {
	p := point{s.Now.Sub(s.Began), s.Episodes, j.Broken, len(s.Unknown), workersThere(s)}
	for len(c.points) > 0 && c.last().at >= p.at {
		c.points = c.points[:len(c.points)-1]
	}
	if len(c.points) > 1 && p.at-c.points[len(c.points)-2].at < c.gap {
		c.points = c.points[:len(c.points)-1] // the last one moves on
	}
	if c.points = append(c.points, p); len(c.points) > pointsMax {
		c.thin()
	}
}

func (c *course) last() point { return c.points[len(c.points)-1] }

// thin drops every other point, but not the last: their number is odd.
func (c *course) thin() {
	kept := c.points[:0]
	for i, p := range c.points {
		if i%2 == 0 {
			kept = append(kept, p)
		}
	}
	c.points = kept
	c.gap = max(2*c.gap, (c.last().at-c.points[0].at)/pointsMax*2)
}

// courseView is a course for the plots: seconds since the campaign began, and episodes a second since the point before.
type courseView struct {
	Times   []float64 `json:"times"`
	Rates   []float64 `json:"rates"`
	Broken  []int     `json:"broken"`
	Unknown []int     `json:"unknown"`
	Workers []int     `json:"workers"`
}

func (c *course) view() courseView {
	v := courseView{[]float64{}, []float64{}, []int{}, []int{}, []int{}}
	for i, p := range c.points {
		if i == 0 {
			continue
		}
		before := c.points[i-1]
		v.Times = append(v.Times, p.at.Seconds())
		v.Rates = append(v.Rates, max(float64(p.episodes-before.episodes), 0)/(p.at-before.at).Seconds())
		v.Broken, v.Unknown, v.Workers = append(v.Broken, p.broken), append(v.Unknown, p.unknown), append(v.Workers, p.worker)
	}
	return v
}
