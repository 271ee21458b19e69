package failures

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim"
)

// Last is the last night, nil if there is none.
func (s *Store) Last() (*Night, error) { return s.night("") }

// night is a night by the name of its file, "" for the last, with what the nights up to it say of all failures.
func (s *Store) night(name string) (*Night, error) {
	c, err := s.read()
	if err != nil {
		return nil, err
	}
	h := newHistory()
	for i := range c.nights {
		n := &c.nights[i]
		h.add(&n.nightFile)
		if n.name == name || name == "" && i == len(c.nights)-1 {
			return s.view(c, n, h), nil
		}
	}
	if name != "" {
		return nil, fmt.Errorf("failures: %s is not a night of the store", path.Join(s.dir, name))
	}
	return nil, nil
}

func (s *Store) view(c *contents, n *night, h *history) *Night {
	v := &Night{
		File: n.name, Name: n.Name, Began: n.Began, Digest: n.Digest, Commit: n.Commit, Go: n.Go, Nights: h.night,
		Failures: []Failure{},
	}
	groups := map[group][]*track{}
	animals := map[string][]string{}
	for _, t := range h.sorted() {
		g := group{t.id, t.expectedOfZoo()}
		groups[g] = append(groups[g], t)
		if t.animal != "" {
			animals[t.id] = append(animals[t.id], t.animal)
		}
	}
	for g, tracks := range groups {
		f := failureOf(g, tracks)
		for i, t := range tracks {
			f.Recipes = append(f.Recipes, t.recipeOf())
			sum := t.recent()[0].sum
			if _, err := s.counterexample(sum); err != nil {
				f.Recipes[i].Missing = true
				c.problems = append(c.problems, err.Error())
			}
		}
		slices.SortStableFunc(f.Recipes, func(a, b Recipe) int { return cmp.Compare(rank[a.State], rank[b.State]) })
		f.Reason, f.Message = f.Recipes[0].Reason, f.Recipes[0].Message
		if !g.expected {
			f.Like = slices.Compact(slices.Sorted(slices.Values(animals[g.id])))
		}
		v.Failures = append(v.Failures, f)
	}
	slices.SortFunc(v.Failures, compareFailures)
	v.Problems = c.told()
	return v
}

// group is what a [Failure] is of.
type group struct {
	id       string
	expected bool
}

// rank orders states: those to look at first.
var rank = map[State]int{New: 0, Back: 1, Ongoing: 2, Changed: 3, Unseen: 4, Gone: 5}

func compareFailures(a, b Failure) int {
	return cmp.Or(cmp.Compare(number(a.Expected), number(b.Expected)), cmp.Compare(number(!a.News()), number(!b.News())),
		cmp.Compare(rank[a.State], rank[b.State]), cmp.Compare(a.ID, b.ID))
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// sorted lists the tracks in an order that depends on nothing else.
func (h *history) sorted() []*track {
	return slices.SortedFunc(maps.Values(h.tracks), func(a, b *track) int { return a.compare(b.place) })
}

// failureOf sums up what became of a failure in all of its recipes.
func failureOf(g group, tracks []*track) Failure {
	f := Failure{ID: g.id, Expected: g.expected, State: stateOf(tracks)}
	nights := map[int]bool{}
	for _, t := range tracks {
		if f.First.Began.IsZero() || t.first.Began.Before(f.First.Began) {
			f.First = t.first
		}
		if !t.last.Began.Before(f.Last.Began) {
			f.Last = t.last
		}
		f.Property = t.property
		if len(t.shape) > 0 {
			f.Shape = t.shape
		}
		for _, n := range t.nights {
			nights[n] = true
		}
	}
	f.Nights = len(nights)
	return f
}

// stateOf is the state of a failure in several recipes: it is gone if it is gone from all, and new if it is new in all
// that have it.
func stateOf(tracks []*track) State {
	states, before := map[State]bool{}, map[State]bool{}
	for _, t := range tracks {
		states[t.state], before[t.before] = true, true
	}
	wasOpen := before[New] || before[Back] || before[Ongoing] || before[Changed] || before[Unseen]
	switch seen := states[New] || states[Back] || states[Ongoing]; {
	case seen && wasOpen:
		return Ongoing
	case seen && before[Gone]:
		return Back
	case seen:
		return New
	case states[Changed]:
		return Changed
	case states[Unseen]:
		return Unseen
	}
	return Gone
}

func (t *track) recipeOf() Recipe {
	file := counterexampleFile(t.recent()[0].sum)
	return Recipe{
		Kind: t.kind, Recipe: t.recipe, Animal: t.animal, State: t.state, Reason: t.reason,
		First: t.first, Last: t.last, Nights: len(t.nights), Message: t.message,
		Counterexample: file, Replay: t.program + " replay " + file, Command: t.command(),
	}
}

// command is the command that runs the job again which has found it last, "" if none has.
func (t *track) command() string {
	found, known := t.jobs[t.lastJob]
	if !known {
		return ""
	}
	j := found.job
	if j.Animal != "" {
		return fmt.Sprintf("%s zoo %s --seed %d%s", t.program, j.Animal, j.Seed, flag(j.Exact, "--exact"))
	}
	same := fmt.Sprintf(" --seed %d --faults %s --clients %d --ops %d", j.Seed, quoted(j.Faults), j.Clients, j.Ops)
	job := j.Kind + " --recipe " + quoted(j.Recipe)
	if j.Strategy == sim.Exhaustive {
		return fmt.Sprintf("%s prove %s%s --at-most %d%s", t.program, job, same, j.AtMost, flag(j.Plain, "--plain"))
	}
	line := fmt.Sprintf("%s run %s --strategy %s%s", t.program, job, j.Strategy, same)
	line += fmt.Sprintf(" --episodes %d", found.episodes)
	return line + flag(j.Exact, "--exact") + flag(j.Wire, "--wire")
}

// flag is text after a space, if it is to be.
func flag(is bool, text string) string {
	if !is {
		return ""
	}
	return " " + text
}

var plain = regexp.MustCompile(`^[\w./,:+-]+$`)

// quoted is a word as a shell takes it.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
