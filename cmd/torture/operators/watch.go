package operators

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/ensemble"
)

// leadersName is the file of who led when.
const leadersName = "leaders.jsonl"

// Reign says who leads from a moment on, as that server says itself.
type Reign struct {
	At     int64  `json:"at"`               // nanoseconds since the run began
	Server string `json:"server,omitempty"` // empty: none
	Epoch  int64  `json:"epoch,omitempty"`  // upper half of the zxids of the leader's transactions
}

// Every server is asked so often, and has so long to answer.
const (
	askEvery = 200 * time.Millisecond
	askMax   = time.Second
)

// watch writes down who leads servers that the run has started, until stop is called.
func watch(c *console.Context, servers live.Servers, out *output.Folder) (stop func()) {
	e, ours := servers.(*ensemble.Ensemble)
	if !ours || !out.Named {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c)
	var watching sync.WaitGroup
	watching.Go(func() {
		file, err := out.Create(leadersName)
		if err == nil {
			err = cmp.Or(record(ctx, e, file), file.Close())
		}
		if err != nil {
			fmt.Fprintf(c.Stderr, "torture: who leads is not written down: %v\n", err)
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// record writes a line whenever another server leads, or none.
func record(ctx context.Context, e *ensemble.Ensemble, to io.Writer) error {
	begin, last := time.Now(), Reign{Epoch: -1} // nobody's
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for {
		at := time.Since(begin).Nanoseconds()
		now := leading(ctx, e)
		if ctx.Err() != nil {
			return nil
		}
		if now.Server != last.Server || now.Epoch != last.Epoch {
			now.At, last = at, now
			if err := json.NewEncoder(to).Encode(now); err != nil {
				return err
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// leading asks all servers.
func leading(ctx context.Context, e *ensemble.Ensemble) Reign {
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	answers := make([]ensemble.Status, len(e.Servers()))
	var asked sync.WaitGroup
	for i := range answers {
		asked.Go(func() { answers[i], _ = e.Member(i).Status(ctx) }) // no answer: it does not lead
	}
	asked.Wait()
	return leader(answers)
}

// leader finds who leads among all servers. One that was cut off may think that it still does: it has a lower epoch.
func leader(answers []ensemble.Status) (found Reign) {
	for i, a := range answers {
		if epoch := a.Zxid >> 32; a.Mode != "" && a.Mode != "follower" && (found.Server == "" || epoch > found.Epoch) {
			found.Server, found.Epoch = ensemble.Target(i).String(), epoch
		}
	}
	return found
}
