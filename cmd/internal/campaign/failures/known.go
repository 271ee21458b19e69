package failures

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
)

// perRecipe is how many counterexamples of one failure in one recipe are run again.
const perRecipe = 3

// Suite is what is to be run again first.
type Suite struct {
	Known    []campaign.Known `json:"known"`
	Left     []string         `json:"left,omitempty"`     // counterexamples that are left out, each with the reason
	Problems []string         `json:"problems,omitempty"` // as in [Night]
}

// Known chooses at most limit counterexamples to be run again first, or any number if that is 0: those of failures that
// are there before those that are gone, and each failure of each recipe once before any twice. Of one failure in one
// recipe it chooses 3: those with which it was last seen, the one that was new, and then the latest. Strategy
// near begins with them, too. What animals of the zoo break is not among them.
func (s *Store) Known(limit int) (*Suite, error) {
	c, err := s.read()
	if err != nil {
		return nil, err
	}
	h := newHistory()
	for i := range c.nights {
		h.add(&c.nights[i].nightFile)
	}
	suite := &Suite{Known: []campaign.Known{}}
	for turn, more := 0, true; more; turn++ {
		more = false
		for _, t := range h.suspects() {
			list := t.chosen()
			if turn < len(list) {
				more = true
				s.choose(suite, c, t, list[turn].sum, turn, limit)
			}
		}
	}
	suite.Problems = c.told()
	return suite, nil
}

// choose adds a counterexample to the suite, or says why it is left out.
func (s *Store) choose(suite *Suite, c *contents, t *track, sum string, turn, limit int) {
	why := ""
	switch {
	case turn >= perRecipe:
		why = fmt.Sprintf("%d others of the same failure and recipe are run again", perRecipe)
	case limit > 0 && len(suite.Known) == limit:
		why = fmt.Sprintf("%d others are run again", limit)
	default:
		example, err := s.counterexample(sum)
		if err == nil {
			suite.Known = append(suite.Known, campaign.Known{ID: t.id, Counterexample: example})
			return
		}
		c.problems = append(c.problems, err.Error())
		return
	}
	suite.Left = append(suite.Left, fmt.Sprintf("%s (%s in %s): %s", counterexampleFile(sum), t.id, t.where(), why))
}

// suspects are the tracks of which counterexamples are run again, the most relevant first.
func (h *history) suspects() []*track {
	list := slices.DeleteFunc(h.sorted(), (*track).expectedOfZoo)
	slices.SortStableFunc(list, func(a, b *track) int {
		return cmp.Or(cmp.Compare(number(a.state == Gone), number(b.state == Gone)), b.last.Began.Compare(a.last.Began))
	})
	return list
}

// chosen lists the counterexamples in the order in which they are chosen: those of the last sighting, the first ever,
// the others from the latest on.
func (t *track) chosen() []example {
	list := t.recent()
	add := func(e example) {
		if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	add(t.examples[0])
	rest := slices.Clone(t.examples)
	slices.SortStableFunc(rest, func(a, b example) int { return cmp.Compare(b.seen, a.seen) })
	for _, e := range rest {
		add(e)
	}
	return list
}

func (t *track) where() string { return fmt.Sprintf("%s (%s)", t.kind, t.recipe) }
