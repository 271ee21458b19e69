package workload

import (
	"bytes"
	"context"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
)

// Page implements [sim.Teller]: the story of a counterexample as a page that opens anywhere.
func (w *Workload) Page(ctx context.Context, c *sim.Counterexample, again string) ([]byte, error) {
	s, err := story.Tell(ctx, w, c)
	if err != nil {
		return nil, err
	}
	s.Commands = []story.Command{{Name: "run again", Line: again}}
	var page bytes.Buffer
	err = s.HTML(&page)
	return page.Bytes(), err
}
