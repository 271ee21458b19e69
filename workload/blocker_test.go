package workload_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// forgetfulPermit is a semaphore of one permit, that is polled by who has an inner lock. A try that is given up keeps it.
type forgetfulPermit struct {
	conn  recipes.Conn
	path  string
	inner *recipes.Lock
}

func (s forgetfulPermit) Acquire(ctx context.Context) error {
	if err := s.inner.Lock(ctx); err != nil {
		return err
	}
	defer s.inner.Unlock(context.WithoutCancel(ctx))
	for {
		_, err := s.conn.Create(s.path+"-permit", nil, zk.FlagEphemeral, openACL)
		if err != zk.ErrNodeExists {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s forgetfulPermit) TryAcquire(ctx context.Context) (bool, error) {
	_, err := s.conn.Create(s.path+"-permit", nil, zk.FlagEphemeral, openACL)
	if err == nil && ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil, nil
}

func (s forgetfulPermit) Release(context.Context) error { return s.conn.Delete(s.path+"-permit", -1) }

// What somebody has is not said to be free, though who waits for it is first in the queue of an inner lock.
func TestWhatSomebodyHasIsNotFree(t *testing.T) {
	w := workload.Semaphore(1, func(c recipes.Conn, path string) workload.Permitter {
		return forgetfulPermit{c, path + "/permit", recipes.NewLock(c, path+"/inner")}
	}, workload.Unfair())
	r := campaign(t, w, sim.Config{Episodes: 300, Seed: 1, Faults: world.Cancel, NoShrink: true})
	if text := messageOf(r, "progress"); !strings.Contains(text, "permit-permit of session") || !strings.Contains(text, "is still there, too") {
		t.Errorf("progress: %q, %v", text, r.Violations)
	}
	if text := messageOf(r, "lost-wakeup"); text != "" {
		t.Errorf("lost-wakeup: %q", text)
	}
}

// pollingKind is an episode of a kind of one's own: users hold a znode that they poll for, and one call fails and leaves it.
type pollingKind struct{ workload.Script[string] }

func planHolding(p *world.Plan, path string) workload.Episode {
	e := &pollingKind{workload.NewScript[string](p, path)}
	e.Draw(p, p.Ops, workload.OneOf("hold", "hold", "fail"))
	return e
}

func (e *pollingKind) Run(u workload.User) {
	for turn := range e.Turns(u) {
		ctx, op := u.Begin(turn, "", false)
		_, err := u.Conn().Create(e.Path+"/held", nil, zk.FlagEphemeral, openACL)
		for errors.Is(err, zk.ErrNodeExists) && ctx.Err() == nil {
			u.Wait(time.Second)
			_, err = u.Conn().Create(e.Path+"/held", nil, zk.FlagEphemeral, openACL)
		}
		switch {
		case err == nil && turn == "fail":
			u.End(op, world.Fail, "", errors.New("it did not like it"))
		case err == nil:
			u.End(op, world.OK, "", nil)
			u.Conn().Delete(e.Path+"/held", -1)
		default:
			u.End(op, world.Unknown, "", err)
		}
	}
}

func (e *pollingKind) History(v *workload.View) linearizability.History { return v.Texts() }

func (e *pollingKind) Judge(v *workload.View) workload.Judgement {
	j := e.Judging(v)
	j.Add(v.Stuck()...)
	return j
}

// Who polls for what a failed call has left waits for that, in kinds of one's own, too.
func TestWhoPollsWaitsForWhatIsLeft(t *testing.T) {
	w := workload.Own("pollingKind", planHolding, workload.Existing())
	r := campaign(t, w, sim.Config{Episodes: 200, Seed: 1, NoFaultsAtAll: true, NoShrink: true})
	if text := messageOf(r, "orphan"); !strings.Contains(text, "/held is still there, made by c") || !strings.Contains(text, "which failed") {
		t.Errorf("orphan: %q; %s", text, r.Verdict)
	}
	if text := messageOf(r, "progress"); text != "" {
		t.Errorf("progress: %q", text)
	}
}
