package workload_test

import (
	"context"
	"errors"
	"testing"

	brokenly "github.com/zktorture/zktorture/internal/testkit/broken"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// mortal is a correct lock that ends with the session under which it was used first: then it fails for ever.
type mortal struct {
	workload.Locker
	conn    recipes.Conn
	session int64
}

var errDead = errors.New("the lock is dead: make another")

func (l *mortal) Lock(ctx context.Context) error {
	if l.session != 0 && l.conn.SessionID() != l.session {
		return errDead
	}
	err := l.Locker.Lock(ctx)
	if l.session == 0 {
		l.session = l.conn.SessionID()
	}
	return err
}

func newMortal(c recipes.Conn, path string) workload.Locker {
	return &mortal{Locker: newSilent(c, path), conn: c}
}

// An error that is not ZooKeeper's is no excuse when it goes on.
func TestWhatFailsForEverIsUnusable(t *testing.T) {
	wantBroken(t, workload.Lock(newMortal), world.Expiry, "unusable",
		"failed 4 times in a row, at last with \"the lock is dead")
}

// sulky is a correct lock that fails a few times after each end of a session: it is usable again.
type sulky struct {
	mortal
	failed int
}

func (l *sulky) Lock(ctx context.Context) error {
	err := l.mortal.Lock(ctx)
	if errors.Is(err, errDead) {
		if l.failed++; l.failed%3 == 0 {
			l.session = 0
		}
	}
	return err
}

func TestWhatFailsForAWhileIsUsable(t *testing.T) {
	wantClean(t, workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return &sulky{mortal: mortal{Locker: newSilent(c, path), conn: c}}
	}), world.Expiry|world.Loss|world.Crash)
}

// With one operation for each user a user adds twice at most, the second time in its final operation, whatever the strategy.
func TestEachUserHasOpsOperationsAndAFreshOne(t *testing.T) {
	for _, additions := range []int{2, 3} {
		w := workload.Counter(brokenly.NewTiring(additions))
		for name, cfg := range map[string]sim.Config{
			"mix": {Episodes: 500}, "random": {Strategy: "random", Episodes: 500},
		} {
			cfg.Ops, cfg.Seed, cfg.NoFaultsAtAll, cfg.NoShrink = 1, 1, true, true
			r := campaign(t, w, cfg)
			if broken := r.Verdict == sim.VerdictViolation; broken != (additions == 2) {
				t.Errorf("%s: the addition number %d of a user is wrong: %v", name, additions, r.Verdict)
			}
		}
	}
}
