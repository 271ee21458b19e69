package ensemble_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/zkclient"
)

// held is an ensemble with a follower that can be held.
type held struct {
	*testing.T
	ctx            context.Context
	ensemble       *ensemble.Ensemble
	leader, member int
	writer, reader *zkclient.Client // of the leader, and of the follower
}

func newHeld(t *testing.T) *held {
	h := &held{T: t, ctx: testkit.Context(t), ensemble: three(t)}
	var err error
	h.leader, err = h.ensemble.WaitLeader(h.ctx)
	h.must(err)
	h.member = (h.leader + 1) % 3
	h.beginWithoutSnapshot()
	h.writer = session(t, h.ensemble.Servers()[h.leader])
	h.reader = session(t, h.ensemble.Servers()[h.member])
	return h
}

// beginWithoutSnapshot restarts the member if it came late to the leader, as on a busy machine: then it began with a
// snapshot, and cannot be held.
func (h *held) beginWithoutSnapshot() {
	zxid, err := h.ensemble.Committed(h.ctx)
	h.must(err)
	err = h.ensemble.Hold(h.ctx, h.member, zxid)
	if errors.Is(err, ensemble.ErrSnapshot) {
		h.must(h.ensemble.Member(h.member).Kill())
		h.must(h.ensemble.Member(h.member).Restart(h.ctx))
		return
	}
	h.must(err)
	h.ensemble.Free(h.member)
}

func (h *held) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// write makes more znodes: /1, /2 and so on, below the test's own.
func (h *held) write(from, to int) {
	h.Helper()
	for i := from; i <= to; i++ {
		_, err := h.writer.Create(h.path(i), nil, 0, zk.WorldACL(zk.PermAll))
		h.must(err)
	}
}

func (h *held) path(i int) string { return fmt.Sprintf("/%s-%d", h.Name(), i) }

// hold holds the member the given number of transactions behind the leader.
func (h *held) hold(missing int64) {
	h.Helper()
	zxid, err := h.ensemble.Committed(h.ctx)
	h.must(err)
	h.must(h.ensemble.Hold(h.ctx, h.member, zxid-missing))
}

// wantSeen checks which znode is the last that the reader sees.
func (h *held) wantSeen(last int) {
	h.Helper()
	for i := 1; i <= last+1; i++ {
		there, _, err := h.reader.Exists(h.path(i))
		h.must(err)
		if there != (i <= last) {
			h.Fatalf("that there is /%d is %v, with /%d the last", i, there, last)
		}
	}
}

// A held follower serves the old state, goes on following, and catches up to where it may.
func TestHold(t *testing.T) {
	h := newHeld(t)
	h.write(1, 1)
	h.hold(0)
	h.write(2, 6)
	h.wantSeen(1)
	h.hold(3)
	h.wantSeen(3)
	h.write(7, 7)
	h.hold(6) // it has applied that already
	h.wantSeen(3)
	h.hold(3)
	h.wantSeen(4)

	synced := make(chan error, 1)
	go func() {
		_, err := h.reader.Sync("/")
		synced <- err
	}()
	h.hold(1)
	select {
	case err := <-synced:
		t.Fatalf("a sync was answered before what it waits for was applied: %v", err)
	default:
	}
	h.ensemble.Free(h.member)
	h.must(<-synced)
	h.wantSeen(7)
	if status, err := h.ensemble.Member(h.member).Status(h.ctx); err != nil || status.Mode != "follower" {
		t.Error(status, err)
	}
}

// A follower stays one although it is held for longer than SyncLimit ticks, and keeps the quorum: the other follower
// is not needed.
func TestHeldFollowerAcknowledges(t *testing.T) {
	h := newHeld(t)
	h.hold(0)
	h.must(h.ensemble.Member(3 - h.leader - h.member).Kill())
	n := 0
	for began := time.Now(); time.Since(began) < syncLimit*100*time.Millisecond*5/4; n++ {
		h.write(n+1, n+1)
		time.Sleep(10 * time.Millisecond) // a held follower may be some thousand transactions behind, not more
	}
	h.wantSeen(0)
	h.must(h.ensemble.HealAll(h.ctx))
	h.wantSeen(n)
}

func TestHoldErrors(t *testing.T) {
	h := newHeld(t)
	wantError(t, h.ensemble.Hold(h.ctx, h.leader, 0), "it leads")
	wantError(t, h.ensemble.Hold(h.ctx, 3, 0), "no member 3")
	zxid, err := h.ensemble.Committed(h.ctx)
	h.must(err)
	patience := time.Second / 2
	testkit.Until(t, "there is time to ask where the member is", func() bool {
		patience *= 2 // a busy machine may not answer in a second
		ctx, cancel := context.WithTimeout(h.ctx, patience)
		defer cancel()
		err := h.ensemble.Hold(ctx, h.member, zxid+100)
		if err == nil {
			t.Fatal("it is held at a transaction that there is not")
		}
		return strings.Contains(err.Error(), "and not at")
	})
}
