package workload

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// Served is what one user can do with an object, by the names of histories. They are the other side of
// a [Remote]: a process that serves a recipe of this workload's carries it out.
type Served map[string]func(ctx context.Context, arg linearizability.Value) (linearizability.Value, error)

// Serve returns what a user of the connection can do with the object at a path, by the workload's
// recipe. It is called once for each user and object, and always on the same Workload in one process, as a
// recipe may share something between the users of a process.
func (w *Workload) Serve(c recipes.Conn, path string) (Served, error) {
	// A recipe comes with its episodes. This one is never run.
	e := w.plan(sim.NewPlan(calmest{}, 1, 1, 1, sim.NoFaults, parentOf(path)), path)
	if k, err := KindNamed(w.kind); err == nil && k.serve != nil {
		if served, can := k.serve(e, c, path); can {
			return served, nil
		}
	}
	return nil, fmt.Errorf("workload: %s recipes cannot be served to another process", w.kind)
}

// calmest plans the calmest episode.
type calmest struct{}

func (calmest) Choose(int, string) int { return 0 }

// plain is an operation with neither argument nor result.
func plain(do func(context.Context) error) func(context.Context, linearizability.Value) (linearizability.Value, error) {
	return func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
		return linearizability.Null, do(ctx)
	}
}

// granting is an operation that waits for something; the result is the token, if the recipe has any.
func granting(recipe any, do func(context.Context) error) func(context.Context, linearizability.Value) (linearizability.Value, error) {
	return func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
		if err := do(ctx); err != nil {
			return linearizability.Null, err
		}
		return tokenOf(recipe), nil
	}
}

// trying is an operation that does not wait; the result is the token, or whether it got what it tried for.
func trying(recipe any, do func(context.Context) (bool, error)) func(context.Context, linearizability.Value) (linearizability.Value, error) {
	return func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
		got, err := do(ctx)
		if err != nil || !got {
			return linearizability.Bool(false), err
		}
		if token := tokenOf(recipe); !token.IsNull() {
			return token, nil
		}
		return linearizability.Bool(true), nil
	}
}

func tokenOf(recipe any) linearizability.Value {
	if t, ok := recipe.(tokener); ok {
		return linearizability.Int(t.Token())
	}
	return linearizability.Null
}

// withOwner adds the question whether the user still holds what it got, if the recipe can tell.
func (o Served) withOwner(recipe any) Served {
	var still func() bool
	switch r := recipe.(type) {
	case loser:
		still = func() bool {
			select {
			case <-r.Lost():
				return false
			default:
				return true
			}
		}
	case owner:
		still = r.IsOwner
	default:
		return o
	}
	o["owner"] = func(context.Context, linearizability.Value) (linearizability.Value, error) {
		return linearizability.Bool(still()), nil
	}
	return o
}

func lockOperations(l Locker) Served {
	o := Served{"acquire": granting(l, l.Lock), "release": plain(l.Unlock)}
	if t, can := l.(tryLocker); can {
		o["try"] = trying(l, t.TryLock)
	}
	return o.withOwner(l)
}

func rwOperations(l RWLocker) Served {
	o := Served{
		"acquire": granting(l, l.Lock), "release": plain(l.Unlock),
		"racquire": granting(l, l.RLock), "rrelease": plain(l.RUnlock),
	}
	if t, can := l.(tryLocker); can {
		o["try"] = trying(l, t.TryLock)
	}
	if t, can := l.(tryRLocker); can {
		o["rtry"] = trying(l, t.TryRLock)
	}
	return o.withOwner(l)
}

func semaphoreOperations(s Permitter) Served {
	o := Served{"acquire": granting(s, s.Acquire), "release": plain(s.Release)}
	if t, can := s.(tryAcquirer); can {
		o["try"] = trying(s, t.TryAcquire)
	}
	return o.withOwner(s)
}

func electionOperations(c Candidate) Served {
	return Served{"elected": granting(c, c.Campaign), "resigned": plain(c.Resign)}.withOwner(c)
}

func barrierOperations(g BarrierRecipe) Served {
	return Served{"shut": plain(g.Shut), "open": plain(g.Open), "wait": plain(g.Wait)}
}

func counterOperations(c Adder) Served {
	return Served{
		"add": func(ctx context.Context, delta linearizability.Value) (linearizability.Value, error) {
			sum, err := c.Add(ctx, delta.Int())
			if err != nil {
				return number(suspect(err)), err
			}
			return linearizability.Int(sum), nil
		},
		"get": func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
			n, err := c.Get(ctx)
			return linearizability.Int(n), err
		},
	}
}

func queueOperations(q queueClient) Served {
	o := Served{"offer": func(ctx context.Context, item linearizability.Value) (linearizability.Value, error) {
		return linearizability.Null, q.offer(ctx, queueItem{value: item.String()})
	}}
	for name, remove := range q.removals {
		o[name] = func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
			data, err := remove(ctx)
			switch {
			case err == nil:
				return linearizability.Str(string(data)), nil
			case errors.Is(err, ErrEmpty):
				return linearizability.Null, nil
			case suspect(err) != "":
				return linearizability.Str(suspect(err)), err
			}
			return linearizability.Null, err
		}
	}
	return o
}

// RemoteError is the error of an operation that failed in another process: text is what it said, and unknown
// that it may have happened all the same, with this result then.
func RemoteError(call RemoteCall, text string, unknown bool, result linearizability.Value) error {
	err := errors.New(text)
	if !unknown {
		return err
	}
	return &recipes.UnknownOutcomeError{Op: call.Op, Path: call.Path, Data: dataOf(result), Err: err}
}

func dataOf(result linearizability.Value) []byte {
	switch {
	case result.IsNull():
		return nil
	case result.IsInt():
		return strconv.AppendInt(nil, result.Int(), 10)
	}
	return []byte(result.String())
}

// OutcomeUnknown tells whether an error of a recipe's says that the operation may have happened, rather than
// only that it failed.
func OutcomeUnknown(err error) bool {
	return declared(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
