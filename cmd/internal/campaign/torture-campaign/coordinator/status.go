package coordinator

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
)

// rate is how many episodes were counted in the last minute.
type rate struct{ counted []counted }

type counted struct {
	at       time.Time
	episodes int
}

const rateOver = time.Minute

func (r *rate) add(episodes int, now time.Time) {
	r.counted = append(r.counted, counted{now, episodes})
	old := 0
	for old < len(r.counted) && now.Sub(r.counted[old].at) > rateOver {
		old++
	}
	r.counted = slices.Delete(r.counted, 0, old)
}

// perSecond is the rate of a campaign that has run for so long.
func (r *rate) perSecond(now time.Time, ran time.Duration) float64 {
	episodes := 0
	for _, c := range r.counted {
		if now.Sub(c.at) <= rateOver {
			episodes += c.episodes
		}
	}
	return float64(episodes) / max(min(ran, rateOver), time.Second).Seconds()
}

// crew are the workers that were heard of.
type crew map[string]seen

type seen struct {
	engine.Beat
	last time.Time
}

// lostAfter is when a worker that is not heard of counts as gone.
const lostAfter = time.Minute

func (c crew) note(b engine.Beat, now time.Time) {
	if b.Gone {
		delete(c, b.Name)
		return
	}
	c[b.Name] = seen{b, now}
}

// slots is how many tasks the workers do at a time.
func (c crew) slots(now time.Time) int {
	n := 0
	for _, w := range c {
		if w.Refused == "" && now.Sub(w.last) < lostAfter {
			n += w.Slots
		}
	}
	return n
}

func (c crew) list() (list []status.Worker) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		w := c[name]
		unit := -1
		if len(w.Doing) > 0 {
			unit = w.Doing[0]
		}
		list = append(list, status.Worker{
			Name: name, Build: w.Build, System: w.System, Refused: w.Refused, Units: w.Units, Unit: unit, Last: w.last,
		})
	}
	return list
}

// status is a snapshot of the books.
func (b *books) status(now time.Time) status.Status {
	s := status.Status{
		Plan: b.plan, Digest: b.plan.Digest(), State: status.Running, Began: b.Began, Now: now,
		Units: b.units(), Done: len(b.sum.Done), Twice: b.sum.Twice, Unequal: slices.Clone(b.sum.Unequal),
		Unknown: maps.Clone(b.sum.Unknown), Last: b.Last, Rate: b.rate.perSecond(now, b.Elapsed),
		Problems: []string{}, Ends: b.ends(now), Workers: []status.Worker{},
	}
	switch {
	case b.allJobs():
		s.State = status.Ended
	case b.allUnits():
		s.State = status.Concluding
	}
	for i := range b.jobs {
		j := b.statusOf(i)
		if b.Reports[i] != nil {
			s.Concluded++
		}
		s.Jobs = append(s.Jobs, j)
		s.Episodes += j.Episodes
		s.Steps += b.sum.Parts[i].Steps
	}
	return s
}

func (b *books) statusOf(job int) status.Job {
	p := &b.sum.Parts[job]
	j := status.Job{
		Job: b.jobs[job], Units: b.plan.UnitsOf(job), Done: b.JobDone[job], Took: b.JobTook[job],
		Episodes: p.Episodes, Failures: p.Failures, Struck: p.Strikes(), Coverage: p.Covered(),
	}
	told := cmp.Or(b.Reports[job], b.Previews[job].report)
	for _, f := range p.Found {
		found := status.Found{Property: f.Property, Message: f.Message, Times: f.Times, First: f.First}
		if told != nil {
			for _, t := range told.Failures {
				if t.Property == f.Property {
					found.ID, found.Story = t.ID, t.Story
				}
			}
		}
		j.Found = append(j.Found, found)
	}
	return j
}

// ends estimates when the campaign ends, by how it went so far; zero: nothing is known.
func (b *books) ends(now time.Time) time.Time {
	if limit := time.Duration(b.plan.Duration); limit > 0 {
		return now.Add(max(limit-b.Elapsed, 0))
	}
	done := b.settled()
	if done == 0 || b.allUnits() {
		return time.Time{}
	}
	left := float64(b.units()-done) / float64(done)
	return now.Add(time.Duration(left * float64(b.Elapsed)))
}
