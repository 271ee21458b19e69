package recipes_test

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// What comes of Begin when the connection breaks, or ZooKeeper refuses.
func TestTwoPhaseBeginDoubts(t *testing.T) {
	for name, test := range map[string]struct {
		others     bool // somebody else's transaction is there
		multi, get []fault
		want       error
		unknown    bool
	}{
		"reply lost":   {multi: []fault{loseReply}},
		"request lost": {multi: []fault{loseRequest}},
		"request lost, another's is there": {
			others: true, multi: []fault{loseRequest}, want: recipes.ErrTransactionExists,
		},
		"refused": {multi: []fault{refuse(zk.ErrNoAuth)}, want: zk.ErrNoAuth},
		"reply lost, not to be read": {
			multi: []fault{loseReply}, get: []fault{refuse(zk.ErrNoAuth)}, want: zk.ErrNoAuth, unknown: true,
		},
	} {
		world(t, func(t *testing.T, servers *goclient.Local) {
			c := connect(t, servers)
			if test.others {
				must(t, recipes.NewTwoPhase(connect(t, servers), "/tx").Begin(t.Context(), "t", nil, "a"))
			} else {
				must(t, recipes.NewTwoPhase(c, "/tx").Begin(t.Context(), "other", nil, "a"))
			}
			c.plan("multi", test.multi...)
			c.plan("get", test.get...)
			err := recipes.NewTwoPhase(c, "/tx").Begin(t.Context(), "t", nil, "a")
			if !errors.Is(err, test.want) || errors.Is(err, recipes.ErrUnknownOutcome) != test.unknown {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
