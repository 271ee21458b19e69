package published

import (
	"context"

	"github.com/zktorture/zktorture/recipes"
)

// ElectionRecipe elects a leader as ZooKeeper's documentation describes it in "ZooKeeper Recipes and Solutions",
// Leader Election.
type ElectionRecipe struct{ contender }

// NewElectionRecipe returns a volunteer; nothing is sent before it does.
func NewElectionRecipe(client recipes.Conn, election string, bugs Bugs) *ElectionRecipe {
	return &ElectionRecipe{newContender(client, election, "guid-", "-n-", bugs)}
}

// Campaign volunteers to be a leader and waits until it is.
func (e *ElectionRecipe) Campaign(ctx context.Context) error {
	// 1. Create znode z.
	// 2. Let C be the children, and i the sequence number of z.
	return e.orWithdraw(e.waitTurnBy(ctx, rightBefore, func(smaller string) (bool, error) {
		// 3. Watch for changes on the znode with the largest number smaller than i.
		return false, e.watch(ctx, smaller)
	}))
}

func (e *ElectionRecipe) watch(ctx context.Context, smaller string) error {
	if e.bugs.Has("E7") {
		// BUG: E7 the znode may be gone already, and will not come again: the text does not say to look at C again
		_, err := e.hearByExists(ctx, smaller)
		return err
	}
	return e.awaitDeletion(ctx, smaller)
}
