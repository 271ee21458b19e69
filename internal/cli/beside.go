package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
)

// compare puts a second run beside a story: that of a file, or the same choices with another recipe.
func (e *explainCmd) compare(c *console.Context, s *story.Story) error {
	other, err := e.besideFile(c)
	if errors.Is(err, fs.ErrNotExist) {
		other, err = e.besideRecipe(c)
	}
	if err != nil {
		return fmt.Errorf("--beside %s: %w", e.Beside, err)
	}
	left, right := s.Recipe, other.Recipe
	if left == right {
		left, right = e.File, e.Beside
	}
	s.Compare(other, left, right)
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
		return story.FromWholeHistory(history, "", "nothing broke"), err
	}
	example, w, unreadable := loadExample(c, e.Beside)
	if unreadable != nil {
		return nil, err
	}
	r, err := sim.Replay(w, example)
	if err != nil {
		return nil, err
	}
	return story.Of(example, w, r), nil
}

// besideRecipe replays the choices of the first file with another recipe of its kind.
func (e *explainCmd) besideRecipe(c *console.Context) (*story.Story, error) {
	example, _, err := loadExample(c, e.File)
	if err != nil {
		return nil, fmt.Errorf("there is no such file, and to compare with a recipe the first run must be a counterexample: %w", err)
	}
	w, err := worker.Find(example.Workload, e.Beside)
	if err != nil {
		return nil, fmt.Errorf("there is no such file and no such recipe: %w", err)
	}
	if example.Wire {
		w = w.OverWire()
	}
	r, err := sim.Replay(w, example)
	if err != nil {
		return nil, err
	}
	return story.Of(example, w, r), nil
}
