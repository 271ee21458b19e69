package workload_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// plainCandidate is a correct candidate that can do no more than it must.
type plainCandidate struct{ own *recipes.Candidate }

func newPlainCandidate(c recipes.Conn) plainCandidate {
	return plainCandidate{recipes.NewCandidate(c, "/t/election")}
}

func (p plainCandidate) Campaign(ctx context.Context) error { return p.own.Campaign(ctx) }
func (p plainCandidate) Resign(ctx context.Context) error   { return p.own.Resign(ctx) }

func TestPlainCandidate(t *testing.T) {
	wantClean(t, workload.Election(func(c recipes.Conn, _ string) workload.Candidate { return newPlainCandidate(c) }),
		world.AllFaults)
}

// heir takes the end of its predecessor for its own turn, and does not look at the list again
// (bugs E1 and E2).
type heir struct {
	conn recipes.Conn
	own  string
}

func (h *heir) Campaign(ctx context.Context) (err error) {
	h.conn.Create("/t/election", nil, 0, openACL)
	if h.own, err = h.conn.Create("/t/election/n-", nil, zk.FlagEphemeralSequential, openACL); err != nil {
		return err
	}
	names, _, err := h.conn.Children("/t/election")
	slices.Sort(names)
	i := slices.Index(names, strings.TrimPrefix(h.own, "/t/election/"))
	if err != nil || i <= 0 {
		return err
	}
	_, _, deleted, err := h.conn.GetW("/t/election/" + names[i-1])
	if err != nil {
		return nil // it has gone already
	}
	select {
	case <-deleted:
		return nil
	case <-ctx.Done():
		h.conn.Delete(h.own, -1)
		return ctx.Err()
	}
}

func (h *heir) Resign(context.Context) error { return h.conn.Delete(h.own, -1) }

func TestPredecessorGoneIsNotElected(t *testing.T) {
	w := workload.Election(func(c recipes.Conn, _ string) workload.Candidate { return &heir{conn: c} })
	wantClean(t, w, world.NoFaults)
	wantBroken(t, w, world.Cancel, "exclusion", "holds the leadership from step")
}

// selfAssured leads until it resigns (bug E5).
type selfAssured struct{ plainCandidate }

func (selfAssured) Lost() <-chan struct{} { return nil }

func TestExpiredLeaderGoesOn(t *testing.T) {
	w := workload.Election(func(c recipes.Conn, _ string) workload.Candidate {
		return selfAssured{newPlainCandidate(c)}
	})
	wantClean(t, w, world.Loss|world.Lag|world.Watch)
	wantBroken(t, w, world.Expiry, "belief", "whose elected returned at step")
}

// sameEpoch counts its own terms.
type sameEpoch struct {
	plainCandidate
	terms *int64
}

func (s sameEpoch) Campaign(ctx context.Context) error {
	*s.terms++
	return s.plainCandidate.Campaign(ctx)
}
func (s sameEpoch) Token() int64 { return *s.terms }

func TestEpochsHaveToGrow(t *testing.T) {
	w := workload.Election(func(c recipes.Conn, _ string) workload.Candidate {
		return sameEpoch{newPlainCandidate(c), new(int64)}
	})
	wantBroken(t, w, world.NoFaults, "fencing", "was granted the leadership at")
}

// hearsay reads the leader from the server that it is connected to.
type hearsay struct {
	*recipes.Candidate
	conn recipes.Conn
}

func (h hearsay) Leader(context.Context) (data []byte, token int64, err error) {
	names, _, err := h.conn.Children("/t/election")
	if errors.Is(err, zk.ErrNoNode) {
		return nil, 0, recipes.ErrNoLeader
	}
	for _, name := range names {
		if ok, stat, err := h.conn.Exists("/t/election/" + name); err == nil && ok &&
			(token == 0 || stat.Czxid < token) {
			token = stat.Czxid
		}
	}
	if err == nil && token == 0 {
		err = recipes.ErrNoLeader
	}
	return nil, token, err
}

func TestStaleLeader(t *testing.T) {
	w := workload.Election(func(c recipes.Conn, _ string) workload.Candidate {
		return hearsay{recipes.NewCandidate(c, "/t/election"), c}
	})
	wantBroken(t, w, world.Lag, "stale-leader", "who leads and was told")
}
