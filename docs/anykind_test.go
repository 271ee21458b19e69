package docs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

// code is a recipe of a custom kind: one function, which may go on as long as its context.
type code func(ctx context.Context, u workload.User, path string) error

// service is an episode whose users call code, once or twice, and whose judge knows nothing but errors and who is stuck.
type service struct {
	workload.Script[string]
	code code
}

// running is the workload of code, about whose processes the plan says something.
func running(code code, says func(p *world.Plan, path string), opts ...workload.Option) *workload.Workload {
	return workload.Own("service", func(p *world.Plan, path string) workload.Episode {
		e := &service{workload.NewScript[string](p, path), code}
		e.Missing = true
		says(p, path)
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

func nothing(*world.Plan, string)        {}
func follows(p *world.Plan, path string) { p.Follows = []string{path} }
func made(_ string, err error) error     { return unless(err, zk.ErrNodeExists) }
func unless(err error, excuse error) error {
	if errors.Is(err, excuse) {
		return nil
	}
	return err
}

// discovery follows the instances of a service, in the first process, or is one for a while.
func discovery(bugs ...string) code {
	return func(ctx context.Context, u workload.User, path string) error {
		r := published.NewRegistry(u.Conn(), path, fmt.Sprintf("c%d-%d", u.Client(), u.Index()), published.OnlyBugs(bugs...))
		if u.Client() > 0 {
			err := r.Register(ctx)
			u.Wait(time.Second)
			return errors.Join(err, r.Deregister(context.WithoutCancel(ctx)))
		}
		for known := []string(nil); ctx.Err() == nil; {
			names, err := r.Changed(ctx, known)
			if known = names; err != nil {
				u.Wait(time.Second)
			}
		}
		return nil
	}
}

// TestAnyKind checks that each property that howto/own-kind.md says is judged without a model is found in a kind that has
// nothing else wrong with it, and told in words.
func TestAnyKind(t *testing.T) {
	table := testkit.File(t, "howto/own-kind.md")
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
		"kratos, M1":         {running(discovery("M1"), follows), 0, "diverged", "c1 follows /t/service, and for 2m0s without faults that has been"},
		"GoFrame, M6":        {running(discovery("M6"), follows), 0, "deaf", "no watch of its is armed there"},
		"exists, create":     {running(makes, nothing), 0, "startup", "its first call, failed"},
		"who gives up":       {running(leaves, nothing), world.Cancel, "orphan", "made by c1's call at steps"},
		"who has closed":     {running(leaves, nothing, workload.Closing()), 0, "orphan", "or whose recipe is closed"},
		"an ignored context": {running(sleeps, nothing), 0, "hang", "although its context or its connection has ended"},
	} {
		if !strings.Contains(table, "\n| "+c.property+" |") {
			t.Errorf("the table has no row %s", c.property)
		}
		r := runs(t, c.of, sim.Config{Episodes: 300, Seed: 1, Faults: c.faults, NoFaultsAtAll: c.faults == 0})
		if len(r.Violations) != 1 || r.Violations[0].Property != c.property || !strings.Contains(r.Violations[0].Message, c.says) {
			t.Errorf("%s: %s: %v", name, r.Verdict, r.Violations)
		} else if story := r.Violations[0].Story(c.of); strings.Count(story, "\n") > 40 {
			t.Errorf("%s: the story is long:\n%s", name, story)
		}
	}
}

// TestAnyKindSound checks that the same without the mistake is clean, whatever strikes.
func TestAnyKindSound(t *testing.T) {
	for name, of := range map[string]*workload.Workload{
		"registry": running(discovery(), follows),
	} {
		r := runs(t, of, sim.Config{Episodes: testkit.Sized(1000, 20000), Seed: 1, Faults: world.AllFaults, NoShrink: true})
		if len(r.Violations) > 0 {
			t.Errorf("%s: %s: %s", name, r.Verdict, r.Violations[0].Story(of))
		}
	}
}

func runs(t *testing.T, w *workload.Workload, cfg sim.Config) sim.Result {
	r, err := sim.Run(t.Context(), w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
