package cluster

// The registry workload.
//
// Users, each an instance of one service, register and deregister, list the instances and wait for a change, in any
// order, under names that stay the same when their process dies and starts again. In the end all is left at rest, and
// those that are registered list once more, and deregister.

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/cluster"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

var registryKind = workload.Kind{
	Name: "registry",
	Promises: []workload.Promise{
		{Names: []string{"missing"}, Text: "a list has every instance that had registered before the call and whose session " +
			"lives; at rest it has every one that is registered, whatever became of its sessions"},
		{Names: []string{"ghost"}, Text: "a list has no instance that had deregistered before the call; at rest it has none of " +
			"a process that has died", Also: []string{"orphan"}},
		{Names: []string{"duplicate"}, Text: "at rest an instance is listed once"},
		{Names: []string{"stale-watch", "unchanged"}, Text: "a wait for a change ends after a change, and only after one"},
		{Names: []string{"progress"}, Text: "every call returns"},
		workload.Usual.Usable, workload.Usual.Tidy, workload.Usual.NoLeaks,
	},
	Recipes: ours("cluster.Registry: a member of a group that comes back", func(opts ...workload.Option) *workload.Workload {
		return Registry(func(c recipes.Conn, path, name string) Registrar {
			return cluster.NewRegistry(c, path, name)
		}, opts...)
	}),
}

// Registrar is a registry of instances, and one of them, as the workload uses it. A Register that fails may have
// registered the instance; then Deregister is called. One that is not registered may fail with [recipes.ErrNotHeld].
type Registrar interface {
	Register(context.Context) error
	Deregister(context.Context) error
	List(context.Context) ([]string, error)
	Changed(ctx context.Context, known []string) ([]string, error) // waits until they are others
}

// Registry is the registry workload for a recipe. new is called once for each user of a session, with the name of its
// instance; all must be about the same service.
func Registry(new func(c recipes.Conn, path, name string) Registrar, opts ...workload.Option) *workload.Workload {
	w := workload.Own("registry", planRegistry, opts...)
	return w.Making(func(c recipes.Conn, path string) any {
		return func(name string) Registrar { return workload.Typed(w, new(c, path, name)) }
	})
}

// registryEpisode is one planned episode. A turn is the name of an operation, or a move: in, or out again.
type registryEpisode struct {
	workload.Script[string]
	lives []atomic.Int32 // by client: the life of its process
}

func planRegistry(p *world.Plan, path string) workload.Episode {
	e := &registryEpisode{Script: workload.NewScript[string](p, path)}
	e.lives = make([]atomic.Int32, len(e.Users()))
	e.Missing = p.Choose(4, "the parent is missing") == 3
	e.Draw(p, p.Ops, workload.OneOf("move", "changed", "list", "move"))
	e.Afresh(p)
	return e
}

// MayWaitForever: a wait for a change may, unless what it knows is surely not so any more. Then nothing is ended, as
// what came next might wake it.
func (e *registryEpisode) MayWaitForever(all, waiting []*world.Op) []*world.Op {
	inOrder := e.Script.MayWaitForever(all, waiting)
	known := registrations(all)
	died := func(r *registration) bool { return r.of.Incarnation < int(e.lives[r.of.Client].Load()) }
	for _, op := range waiting {
		switch {
		case op.Name != "changed" || op.Cancelled:
		case known.stale(op, died) != "":
			return nil
		default:
			inOrder = append(inOrder, op)
		}
	}
	return inOrder
}

// instance is a user of a registry, and what it knows.
type instance struct {
	workload.User
	registry Registrar
	name     string
	is, may  bool // registered
	known    []string
}

func (e *registryEpisode) Run(u workload.User) {
	m := &instance{User: u, name: "m" + strconv.Itoa(u.Client()+1) + string(rune('a'+u.Index()))}
	e.lives[u.Client()].Store(int32(u.Life()))
	m.registry = e.Make(u).(func(string) Registrar)(m.name)
	e.AtDeath(u, func() { e.Over(u, m.registry) })
	for turn := range e.Turns(u) {
		switch {
		case turn == "changed":
			m.look(turn, strings.Join(m.known, " "), nil, func(ctx context.Context) ([]string, error) {
				return m.registry.Changed(ctx, slices.Clone(m.known))
			})
		case turn == "move" && m.may:
			m.deregister()
		case turn == "move":
			m.register()
		default:
			m.look("list", "", nil, m.registry.List)
		}
	}
	e.Finally(u, m.afresh)
	if m.may {
		rest := e.Rest(u)
		m.look("list", "", atRest(rest), m.registry.List)
		m.deregister()
	}
	e.Over(u, m.registry)
}

// atRest says of a list that it was made at rest; false: or would have been if that were known.
type atRest bool

// afresh registers, or lists.
func (m *instance) afresh() *world.Op {
	if m.is {
		return m.look("list", "", nil, m.registry.List)
	}
	return m.register()
}

func (m *instance) register() *world.Op {
	session := m.Conn().SessionID()
	ctx, op := m.Begin("register", m.name, true)
	m.Note(op, session)
	m.may = true
	err := m.registry.Register(ctx)
	m.End(op, workload.OutcomeOf(err), "", err)
	m.is = err == nil
	return op
}

// deregister tries twice, as the recipe may have been able to do nothing.
func (m *instance) deregister() {
	for range 2 {
		ctx, op := m.Begin("deregister", m.name, true)
		err := m.registry.Deregister(ctx)
		if errors.Is(err, recipes.ErrNotHeld) {
			err = nil
		}
		m.End(op, workload.OutcomeOf(err), "", err)
		m.is, m.may = false, err != nil
		if err == nil {
			return
		}
	}
}

// look asks for the instances. about is noted of the operation.
func (m *instance) look(name, known string, about any, ask func(context.Context) ([]string, error)) *world.Op {
	ctx, op := m.Begin(name, known, true)
	m.Note(op, about)
	names, err := ask(ctx)
	if err != nil {
		m.End(op, world.Fail, "", err)
		return op
	}
	m.known = slices.Sorted(slices.Values(names))
	m.End(op, world.OK, strings.Join(m.known, " "), nil)
	return op
}

// History is what the clients saw, and deregister calls of unknown outcome from the end of the session on under which an
// instance had registered, or of its process: from there on it is not sure that the instance is registered.
func (e *registryEpisode) History(v *workload.View) linearizability.History {
	h := v.Texts()
	for _, op := range v.Ops {
		end, ended := v.SessionEnd(op.SessionAt)
		if at, died := v.Crash(op.Client, op.Incarnation); died && !(ended && end < at) {
			end, ended = at, true
		}
		if op.SessionAt == 0 || op.Data != op.SessionAt {
			end, ended = op.Call, true
		}
		if op.Name == "register" && op.Outcome == world.OK && ended {
			o := v.Operation(op)
			o.Op, o.Arg, o.Call = "deregister", linearizability.Str(op.Arg), max(end, op.Call)
			o.Outcome, o.Return, o.Note = linearizability.Unknown, linearizability.Forever, "it ended without a call"
			h = append(h, o)
		}
	}
	return h
}

// Judge says which lists are wrong, and who waits in vain.
func (e *registryEpisode) Judge(v *workload.View) workload.Judgement {
	j := e.Judging(v)
	all := registrations(v.Ops)
	for _, op := range v.Waiting {
		if why := all.stale(op, func(r *registration) bool { return r.dead(v, never) }); op.Name == "changed" && why != "" {
			j.Add(workload.Broken("stale-watch", []*world.Op{op}, "%s waits in %s, and is not woken, although %s",
				workload.Who(op), v.CallWith(op), why)...)
		}
	}
	if len(j.Violations) == 0 {
		j.Add(v.Stuck()...)
	}
	known := true
	for _, op := range v.Ops {
		rest, end := op.Data.(atRest)
		known = known && (!end || bool(rest))
		if (op.Name == "list" || op.Name == "changed") && op.Outcome == world.OK {
			j.Add(all.wrong(v, op, bool(rest))...)
		}
	}
	j.Judges("duplicate", known)
	j.Add(v.UnexpectedErrors(func(*world.Op) bool { return false })...)
	if len(j.Violations) == 0 {
		j.Add(v.Leaks()...)
	}
	j.History = e.History(v)
	return j
}

// registration is the time for which an instance may be registered, by its user.
type registration struct {
	of     *world.Op // the last Register that may have begun it
	from   int64     // since when it may be
	in     int64     // since when it is; never, if that is not known
	off    int64     // until when it is
	out    int64     // until when it may be
	unsure bool      // a Register failed, which may be on its way still
}

func (r *registration) name() string { return r.of.Arg }

// register is all that were, in the order of the calls.
type register []*registration

func registrations(ops []*world.Op) (all register) {
	for _, op := range ops {
		switch op.Name {
		case "register":
			i := slices.IndexFunc(all, func(r *registration) bool { return workload.SameUser(r.of, op) && r.off == never })
			if i < 0 {
				i, all = len(all), append(all, &registration{from: op.Call, in: never, off: never, out: never})
			}
			if all[i].of = op; op.Outcome == world.OK {
				all[i].in = op.Return
			} else {
				all[i].unsure = true
			}
		case "deregister":
			for _, r := range all {
				if workload.SameUser(r.of, op) && r.out == never {
					if r.off = min(r.off, op.Call); op.Outcome == world.OK {
						r.out = op.Return
					}
				}
			}
		}
	}
	return all
}

// stale says why a wait for a change is in vain at rest; "" if it may not be.
func (all register) stale(op *world.Op, died func(r *registration) bool) string {
	known := strings.Fields(op.Arg)
	for _, r := range all {
		if r.in < never && r.off == never && !died(r) && !slices.Contains(known, r.name()) {
			return r.name() + " has registered, and not deregistered"
		}
	}
	for _, name := range known {
		if !slices.ContainsFunc(all, func(r *registration) bool { return r.name() == name && (r.unsure || r.out == never) }) {
			return name + " has deregistered"
		}
	}
	return ""
}

// wrong finds what is wrong with a list of instances.
func (all register) wrong(v *workload.View, op *world.Op, rest bool) []sim.Violation {
	names := strings.Fields(op.Result)
	found := func(property string, r *registration, format string, args ...any) []sim.Violation {
		ops := []*world.Op{op}
		if r != nil {
			ops = append(ops, r.of)
		}
		return workload.Broken(property, ops, "%s returned [%s], "+format, append([]any{v.CallWith(op), op.Result}, args...)...)
	}
	for _, r := range all {
		if !slices.Contains(names, r.name()) && r.surelyIn(v, op, rest) {
			return found("missing", r, "without %s, which had registered at %s and not deregistered", r.name(), v.When(r.of))
		}
	}
	for i, name := range names {
		if !slices.ContainsFunc(all, func(r *registration) bool { return r.name() == name && r.maybeIn(v, op, rest) }) {
			return found("ghost", nil, "but %s was not registered all that time: not yet, or it had deregistered, or died", name)
		}
		if rest && i > 0 && names[i-1] == name {
			return found("duplicate", nil, "which has %s twice, at rest", name)
		}
	}
	if op.Name == "changed" && op.Result == op.Arg {
		return found("unchanged", nil, "which is what it knew already")
	}
	return nil
}

// surelyIn reports whether the instance was registered during a whole operation, and in one session or at rest.
func (r *registration) surelyIn(v *workload.View, during *world.Op, rest bool) bool {
	if r.in > during.Call || r.off < during.Return || r.dead(v, during.Return) {
		return false
	}
	session := r.of.SessionAt // 0: its process had none yet, or it is not known
	end, ended := v.SessionEnd(session)
	return rest || session != 0 && r.of.Data == session && (!ended || end > during.Return)
}

// maybeIn reports whether it may have been registered at a moment of an operation.
func (r *registration) maybeIn(v *workload.View, during *world.Op, rest bool) bool {
	out := r.out < during.Call && (!r.unsure || rest)
	return r.from < during.Return && !out && !(rest && r.dead(v, during.Call))
}

// dead reports whether its process had died before a stamp.
func (r *registration) dead(v *workload.View, before int64) bool {
	at, died := v.Crash(r.of.Client, r.of.Incarnation)
	return died && at < before
}
