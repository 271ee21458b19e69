package recipes_test

import (
	"testing"
	"testing/synctest"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// The listener is told of a release when it is over, not when its caller gives up, and once.
func TestListener(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, letGo := connect(t, servers), make(chan struct{})
		acquired, released := 0, 0
		l := recipes.NewLock(c, "/lock", recipes.WithListener(recipes.LockListener{
			Acquired: func() { acquired++ }, Released: func() { released++ },
		}))
		told := func(a, r int) {
			t.Helper()
			if synctest.Wait(); acquired != a || released != r {
				t.Errorf("told of %d acquisitions and %d releases, want %d and %d", acquired, released, a, r)
			}
		}
		must(t, l.Lock(t.Context()))
		c.plan("delete", hang(letGo))
		begin(t, l.Unlock).cancel()
		told(1, 0)
		close(letGo)
		must(t, l.Unlock(t.Context()))
		told(1, 1)
	})
}
