package published

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// ElectionRecipe elects a leader as ZooKeeper's documentation describes it in "ZooKeeper Recipes and
// Solutions", Leader Election.
type ElectionRecipe struct {
	z    contender
	bugs Bugs
}

// NewElectionRecipe returns a volunteer; nothing is sent before it does.
func NewElectionRecipe(client recipes.Conn, election string, bugs Bugs) *ElectionRecipe {
	e := &ElectionRecipe{newContender(client, election, "guid-"), bugs}
	e.z.infix = "-n-"
	return e
}

// Campaign volunteers to be a leader and waits until it is.
func (e *ElectionRecipe) Campaign(ctx context.Context) error {
	return e.z.orWithdraw(e.volunteer(ctx))
}

func (e *ElectionRecipe) volunteer(ctx context.Context) error {
	// 1. Create znode z.
	if err := e.z.enlist(ctx); err != nil {
		return err
	}
	for {
		// 2. Let C be the children, and i the sequence number of z.
		c, i, err := e.z.line(ctx)
		if err != nil {
			return err
		}
		if i <= 0 {
			leads, err := e.z.first(ctx, i)
			if leads || err != nil {
				return err
			}
			continue
		}
		// 3. Watch for changes on the znode with the largest number smaller than i.
		if err := e.watch(ctx, c[i-1]); err != nil {
			return err
		}
	}
}

func (e *ElectionRecipe) watch(ctx context.Context, smaller string) error {
	if !e.bugs.Has("E7") {
		return e.z.awaitDeletion(ctx, smaller)
	}
	var watch <-chan zk.Event
	err := retry(ctx, func() (err error) { _, _, watch, err = e.z.client.ExistsW(e.z.dir + "/" + smaller); return err })
	if err != nil {
		return err
	}
	_, err = e.z.hear(ctx, watch) // BUG: E7 the znode may be gone already, and will not come again: the text does not say to look at C again
	return err
}

// Resign deletes z.
func (e *ElectionRecipe) Resign(context.Context) error { return e.z.withdraw() }
