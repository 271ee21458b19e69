package campaign_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/sim"
)

// drawnPlan is a plan of jobs of all lengths, some of them without end.
func drawnPlan(t *rapid.T) *campaign.Plan {
	p := &campaign.Plan{
		Format: campaign.PlanFormat, Jobs: []campaign.Group{{}}, PerUnit: rapid.IntRange(1, 9).Draw(t, "unit"),
		Known: make([]campaign.Known, rapid.IntRange(0, 3).Draw(t, "known")),
	}
	for i := range p.Known {
		p.Known[i].Counterexample = &sim.Counterexample{}
	}
	for range rapid.IntRange(1, 6).Draw(t, "jobs") {
		j := campaign.Job{Kind: "lock", Recipe: "ours"}
		switch rapid.IntRange(0, 4).Draw(t, "what") {
		case 0:
			j.Shares = rapid.IntRange(1, 5).Draw(t, "shares")
		case 1: // endless
		default:
			j.Episodes = rapid.IntRange(1, 60).Draw(t, "episodes")
		}
		p.Resolved = append(p.Resolved, j)
	}
	return p
}

// Every episode of every job is in one unit, and every share of a search; known failures come first; of a prefix of the
// numbers each job has as many units as any other, unless it has no more.
func TestUnitsAreAllEpisodesOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawnPlan(t)
		list := p.Resolved
		units := p.Units()
		looked := units
		if units == 0 {
			looked = 500
		}
		next, turns := make([]int, len(list)), make([]int, len(list)) // episode, or share; units
		for n := range looked {
			u, ok := p.Unit(n)
			if !ok || u.Number != n {
				t.Fatalf("unit %d: %+v, %v", n, u, ok)
			}
			if n < len(p.Known) {
				if u.Job != -1 || u.Known != n {
					t.Fatalf("unit %d is no known failure: %+v", n, u)
				}
				continue
			}
			if u.Known != -1 || u.From != next[u.Job] {
				t.Fatalf("unit %d of job %d begins at %d, not at %d", n, u.Job, u.From, next[u.Job])
			}
			next[u.Job] += max(u.Episodes, 1)
			turns[u.Job]++
			for other := range list {
				if ahead := turns[u.Job] - turns[other]; ahead > 1 && next[other] < lengthOf(list[other]) {
					t.Fatalf("unit %d: job %d is %d units ahead of job %d", n, u.Job, ahead, other)
				}
			}
		}
		if units == 0 {
			return
		}
		for job, j := range list {
			if next[job] != lengthOf(j) {
				t.Fatalf("job %d has %d of %d", job, next[job], lengthOf(j))
			}
		}
		for _, n := range []int{-1, units, units + 7} {
			if u, ok := p.Unit(n); ok {
				t.Fatalf("there is a unit %d of %d: %+v", n, units, u)
			}
		}
	})
}

// lengthOf is how many episodes or shares a job has; very many if it has no end.
func lengthOf(j campaign.Job) int {
	switch {
	case j.Shares > 0:
		return j.Shares
	case j.Episodes > 0:
		return j.Episodes
	}
	return episodesMax
}

// episodesMax is the last episode that package sim numbers.
const episodesMax = min(1<<40, math.MaxInt>>1)

// A campaign that lasts as long as there is time has units up to the last episode that package sim numbers.
func TestEndlessUnitsEnd(t *testing.T) {
	p := plan(t, `"jobs": [{"kinds": ["lock"], "recipes": ["ours"]}], "duration": "8h", "canary": "none"`)
	const last = episodesMax/campaign.PerUnitDefault - 1
	if u, ok := p.Unit(last); !ok || u.From != last*campaign.PerUnitDefault || p.Units() != 0 || p.UnitsOf(0) != 0 {
		t.Errorf("%+v, %v, %d units", u, ok, p.Units())
	}
	for _, n := range []int{last + 1, episodesMax, math.MaxInt >> 1} {
		if u, ok := p.Unit(n); ok {
			t.Errorf("there is a unit %d: %+v", n, u)
		}
	}
}

func BenchmarkUnit(b *testing.B) {
	p := &campaign.Plan{Format: campaign.PlanFormat, Jobs: []campaign.Group{{}}}
	for i := range 300 {
		p.Resolved = append(p.Resolved, campaign.Job{Kind: "lock", Recipe: "ours", Episodes: 1000 * (300 + i)})
	}
	for n := 0; b.Loop(); n++ {
		if _, ok := p.Unit(n % 100_000); !ok {
			b.Fatal(n)
		}
	}
}
