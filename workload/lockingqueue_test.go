package workload_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// sound is the correct recipe, for the wrong ones to be made of.
type sound struct {
	conn recipes.Conn
	*recipes.LockingQueue
}

func newSound(c recipes.Conn) sound {
	return sound{c, recipes.NewLockingQueue(c, "/t/lockingqueue")}
}

func (q sound) Claim(ctx context.Context) (workload.Claimed, error) {
	c, err := q.LockingQueue.Claim(ctx)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// numbering gives each delivery a token of its own.
type numbering struct{ sound }

func (q numbering) Claim(ctx context.Context) (workload.Claimed, error) {
	c, err := q.LockingQueue.Claim(ctx)
	if err != nil {
		return nil, err
	}
	return numbered{c}, nil
}

type numbered struct{ *recipes.Claim }

func (c numbered) Token() string { return c.Claim.Token() + strings.Repeat("+", c.Attempt()) }

// reluctant gives back what it should remove.
type reluctant struct{ sound }

func (q reluctant) Claim(ctx context.Context) (workload.Claimed, error) {
	c, err := q.LockingQueue.Claim(ctx)
	if err != nil || c.Attempt() > 1 {
		return c, err
	}
	return givenBack{c}, nil
}

type givenBack struct{ *recipes.Claim }

func (c givenBack) Done(ctx context.Context) error { return c.Release(ctx) }

// timid takes the first claim that it sees for a claim on everything.
type timid struct{ sound }

func (q timid) TryClaim(ctx context.Context) (workload.Claimed, error) {
	names, _, _ := q.conn.Children("/t/lockingqueue")
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "taken-") }) {
		return nil, recipes.ErrEmpty
	}
	c, err := q.LockingQueue.TryClaim(ctx)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// removing removes an item before it is processed.
type removing struct{ *recipes.Queue }

func newRemoving(c recipes.Conn) removing { return removing{recipes.NewQueue(c, "/t/lockingqueue")} }

func (q removing) Claim(ctx context.Context) (workload.Claimed, error) {
	data, err := q.Take(ctx)
	return processed{data, func(context.Context) error { return nil }}, err
}

type processed struct {
	data []byte
	done func(context.Context) error
}

func (p processed) Data() []byte                   { return p.data }
func (p processed) Done(ctx context.Context) error { return p.done(ctx) }

// looking leaves an item where others find it until it is processed.
type looking struct{ removing }

func (q looking) Claim(ctx context.Context) (workload.Claimed, error) {
	data, err := q.Peek(ctx)
	if err == recipes.ErrEmpty {
		if data, err = q.Take(ctx); err == nil {
			return processed{data, func(context.Context) error { return nil }}, nil
		}
	}
	return processed{data, func(ctx context.Context) error {
		_, err := q.Poll(ctx)
		return err
	}}, err
}

func TestBrokenLockingQueues(t *testing.T) {
	for name, test := range map[string]struct {
		new      func(c recipes.Conn, path string) workload.LockingQueuer
		faults   world.Faults
		property string
	}{
		"a token for each delivery": {func(c recipes.Conn, _ string) workload.LockingQueuer {
			return numbering{newSound(c)}
		}, world.Crash, "once"},
		"gives back what is done": {func(c recipes.Conn, _ string) workload.LockingQueuer {
			return reluctant{newSound(c)}
		}, world.NoFaults, "duplicate"},
		"sees one claim, tries none": {func(c recipes.Conn, _ string) workload.LockingQueuer {
			return timid{newSound(c)}
		}, world.NoFaults, "false-empty"},
		"removes before processing": {func(c recipes.Conn, _ string) workload.LockingQueuer {
			return newRemoving(c)
		}, world.Crash, "lost"},
		"claims by looking": {func(c recipes.Conn, _ string) workload.LockingQueuer {
			return looking{newRemoving(c)}
		}, world.NoFaults, "exclusion"},
		"claims by looking, at once": {func(c recipes.Conn, _ string) workload.LockingQueuer {
			return looking{newRemoving(c)}
		}, world.NoFaults, "exclusion-in-session"},
	} {
		t.Run(name, func(t *testing.T) { accused(t, workload.LockingQueue(test.new), test.faults, test.property) })
	}
}
