package workload_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// code is a recipe of a custom kind: one function, which may go on as long as its context.
type code func(ctx context.Context, u workload.User, path string) error

// service is an episode whose users call code, once or twice, and whose judge knows nothing but errors and who is stuck.
type service struct {
	workload.Script[string]
	code code
}

// running is the workload of code.
func running(code code, opts ...workload.Option) *workload.Workload {
	return workload.Own("service", func(p *world.Plan, path string) workload.Episode {
		e := &service{workload.NewScript[string](p, path), code}
		e.Missing = true
		e.Draw(p, 2, func(*world.Plan, string) string { return "call" })
		return e
	}, opts...)
}

func (e *service) Run(u workload.User) {
	for name := range e.Turns(u) {
		ctx, op := u.Begin(name, "", true)
		outcome, err := world.OK, e.code(ctx, u, e.Path)
		if workload.Disconnected(err) {
			outcome = world.Unknown
		} else if err != nil {
			outcome = world.Fail
		}
		u.End(op, outcome, "", err)
	}
}

func (e *service) MayWaitForever(_, waiting []*world.Op) (inOrder []*world.Op) {
	for _, op := range waiting {
		if !op.Cancelled {
			inOrder = append(inOrder, op)
		}
	}
	return inOrder
}

func (e *service) History(*workload.View) linearizability.History { return nil }

func (e *service) Judge(v *workload.View) workload.Judgement {
	j := e.Judging(v)
	j.Add(v.UnexpectedErrors(func(*world.Op) bool { return false })...)
	return j
}

func made(_ string, err error) error {
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// TestOwnKind checks that what is judged without a model is found in a kind that has nothing else wrong with it, and told
// in words.
func TestOwnKind(t *testing.T) {
	leaves := func(ctx context.Context, u workload.User, path string) error {
		err := made(u.Conn().Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))
		u.Conn().Exists(path)
		return errors.Join(err, ctx.Err())
	}
	makes := func(_ context.Context, u workload.User, path string) error {
		there, _, err := u.Conn().Exists(path)
		if err == nil && !there {
			_, err = u.Conn().Create(path, nil, 0, zk.WorldACL(zk.PermAll))
		}
		return err
	}
	sleeps := func(context.Context, workload.User, string) error { select {} }
	for name, c := range map[string]struct {
		of             *workload.Workload
		faults         world.Faults
		property, says string
	}{
		"exists, create":     {running(makes), 0, "startup", "its first call, failed"},
		"who gives up":       {running(leaves), world.Cancel, "orphan", "made by c1's call at steps"},
		"who has closed":     {running(leaves, workload.Closing()), 0, "orphan", "whose recipe is closed"},
		"an ignored context": {running(sleeps), 0, "hang", "although its context or its connection has ended"},
	} {
		r, err := sim.Run(t.Context(), c.of, sim.Config{Episodes: 300, Seed: 1, Faults: c.faults, NoFaultsAtAll: c.faults == 0})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Violations) != 1 || r.Violations[0].Property != c.property || !strings.Contains(r.Violations[0].Message, c.says) {
			t.Errorf("%s: %s: %v", name, r.Verdict, r.Violations)
		} else if story := r.Violations[0].Story(c.of); strings.Count(story, "\n") > 40 {
			t.Errorf("%s: the story is long:\n%s", name, story)
		}
	}
}
