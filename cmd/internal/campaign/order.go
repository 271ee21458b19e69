package campaign

import (
	"math"
	"slices"
)

// order numbers the units of a plan: known failures, then rounds in which each job has one unit, as long as it has any.
// In all rounds of a stretch the same jobs have one, so that a unit is found from its number without a table of all.
type order struct {
	known     int
	list      []Job
	size      int   // episodes of a unit
	count     []int // units of each job
	stretches []stretch
}

type stretch struct {
	begin  int   // the number of its first unit
	round  int   // its first round
	rounds int   // how many it has
	jobs   []int // that have units in all of them
}

// endless stands for the number of units of a job that has as many as there is time for. Package sim numbers episodes
// below episodesMax.
const (
	endless     = min(1<<40, math.MaxInt>>10)
	episodesMax = min(1<<40, math.MaxInt>>1)
)

func newOrder(known int, list []Job, size int) order {
	o := order{known: known, list: list, size: size}
	for _, j := range list {
		o.count = append(o.count, j.units(size))
	}
	ends := slices.Clone(o.count)
	slices.Sort(ends)
	begin, round := known, 0
	for _, end := range slices.Compact(ends) {
		s := stretch{begin: begin, round: round, rounds: end - round}
		for job, count := range o.count {
			if count >= end {
				s.jobs = append(s.jobs, job)
			}
		}
		o.stretches = append(o.stretches, s)
		begin, round = begin+s.rounds*len(s.jobs), end
	}
	return o
}

// units is how many units a job has.
func (j Job) units(size int) int {
	switch {
	case j.Shares > 0:
		return j.Shares
	case j.Episodes > 0:
		return (j.Episodes-1)/size + 1
	}
	return endless
}

func (o *order) units() int {
	if slices.Contains(o.count, endless) {
		return 0
	}
	return o.end()
}

// end is the number after the last unit's.
func (o *order) end() int {
	if len(o.stretches) == 0 {
		return 0
	}
	last := o.stretches[len(o.stretches)-1]
	return last.begin + last.rounds*len(last.jobs)
}

func (o *order) unit(n int) (Unit, bool) {
	switch {
	case n < 0 || n >= o.end():
		return Unit{}, false
	case n < o.known:
		return Unit{Number: n, Job: -1, Known: n}, true
	}
	i, found := slices.BinarySearchFunc(o.stretches, n, func(s stretch, n int) int { return s.begin - n })
	if !found {
		i--
	}
	s := o.stretches[i]
	at := n - s.begin
	job, turn := s.jobs[at%len(s.jobs)], s.round+at/len(s.jobs)
	return o.piece(n, job, turn)
}

// piece is the unit of a number, which is the job's of this turn.
func (o *order) piece(n, job, turn int) (Unit, bool) {
	u := Unit{Number: n, Job: job, Known: -1}
	j := o.list[job]
	switch {
	case j.Shares > 0:
		u.From = turn
	case j.Episodes == 0 && (turn+1)*o.size > episodesMax:
		return Unit{}, false
	default:
		u.From, u.Episodes = turn*o.size, o.size
		if j.Episodes > 0 {
			u.Episodes = min(o.size, j.Episodes-u.From)
		}
	}
	return u, true
}
