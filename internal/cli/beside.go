package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/zktorture/zktorture/internal/cli/about"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/stamps"
	"github.com/zktorture/zktorture/workload"
)

// fixed stands for the recipe that is like one with a known bug, without the bug.
const fixed = "fixed"

// compare puts a second run beside a story: that of a file, or the same choices with another recipe. Without any, a page
// of a known bug has the fixed version if these choices can be run with it.
func (e *explainCmd) compare(c *console.Context, s *story.Story) error {
	bug := knownBug(s)
	if bug == nil && e.Beside == "" {
		return nil
	}
	if bug != nil && e.HTML != "" {
		s.Commands = append(s.Commands, story.Command{Name: "known bug " + bug.ID, Line: c.Self + " zoo " + bug.ID})
	}
	var other *story.Story
	var err error
	switch {
	case bug != nil && (e.Beside == "" || e.Beside == fixed):
		other, err = e.besideRecipe(c, bug.Twin)
	case e.Beside == fixed:
		err = fmt.Errorf("no fixed version of %s is known; give a file, or a recipe", s.Recipe)
	default:
		if other, err = e.besideFile(c); errors.Is(err, fs.ErrNotExist) {
			other, err = e.besideRecipe(c, e.Beside)
		}
	}
	switch {
	case err != nil && e.Beside == "":
		return nil
	case err != nil:
		return fmt.Errorf("--beside %s: %w", e.Beside, err)
	}
	left, right := s.Recipe, other.Recipe
	if left == right {
		left, right = e.File, e.Beside
	}
	s.Compare(other, left, right)
	return nil
}

// knownBug is the bug that the recipe of a story is known for; nil if there is none.
func knownBug(s *story.Story) *about.ListedAnimal {
	if about.Zoo == nil {
		return nil
	}
	for _, bug := range about.Zoo() {
		if bug.Kind == s.Workload && bug.Recipe == s.Recipe {
			return &bug
		}
	}
	return nil
}

// besideFile tells the story of the second file. A counterexample in which nothing breaks any more is told, too, and a
// history that is in order.
func (e *explainCmd) besideFile(c *console.Context) (*story.Story, error) {
	s, err := e.storyOf(c, e.Beside)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if e.Model != "" && formatOf(e.Beside) == "" {
		history, err := readHistory(e.Beside)
		return stamps.Whole(history, "", "nothing broke"), err
	}
	example, w, unreadable := loadExample(c, e.Beside)
	if unreadable != nil {
		return nil, err
	}
	return replayed(w, example)
}

// replayed is the story of a counterexample, also of one in which nothing breaks.
func replayed(w *workload.Workload, example *sim.Counterexample) (*story.Story, error) {
	r, err := sim.Replay(w, example)
	if err != nil {
		return nil, err
	}
	return story.Of(example, w, r), nil
}

// besideRecipe replays the choices of the first file with another recipe of its kind.
func (e *explainCmd) besideRecipe(c *console.Context, recipe string) (*story.Story, error) {
	example, _, err := loadExample(c, e.File)
	if err != nil {
		return nil, fmt.Errorf("there is no such file, and to compare with a recipe the first run must be a counterexample: %w", err)
	}
	w, err := worker.Find(example.Workload, recipe)
	if err != nil {
		return nil, fmt.Errorf("there is no such file and no such recipe: %w", err)
	}
	if example.Wire {
		w = w.OverWire()
	}
	return replayed(w, example)
}
