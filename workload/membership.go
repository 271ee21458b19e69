package workload

// The membership workload.
//
// Clients, some with two users on one session, join a group under names of their own, ask for its members, wait for
// changes, and leave, again and again; some only watch; they give up, crash and come back under a new name.
//
// A member that has died, or that is cut off, is in the group until its session ends at the servers, and not a moment
// longer. A change wakes all that wait: herd is not judged.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// membershipKind is the table's line for this kind, see [Kind].
var membershipKind = Kind{
	Name: "membership",
	Promises: []Promise{
		{Names: []string{"missing"}, Text: "a list has every member that joined before the call and stayed"},
		{Names: []string{"ghost"}, Text: "a list has no member that left, or whose session ended, before the call"},
		{Names: []string{"snapshot"}, Text: "a list shows the group as it was at some moment during the call"},
		{Names: []string{"lost-wakeup", "unchanged"}, Text: "a wait for a change ends after a change, and only after one"},
		sober("a member"),
		{Names: []string{"progress"}, Text: "every call returns"},
		usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		entry("membership", Ours,
			"recipes.Group: snapshots of who is in, told of loss", func(opts ...Option) *Workload {
				group := func(c recipes.Conn, path, name string) Grouper { return recipes.NewGroup(c, path, name) }
				return Membership(group, opts...)
			}),
	},
}

// Grouper is a group, and the membership of one user in it, as the workload uses it. A recipe may also have
//
//	Changed(ctx context.Context, known []string) ([]string, error) // waits until it differs
//	Lost() <-chan struct{} // closed when the membership is known to be lost
//	IsOwner() bool         // whether it is a member
//
// Optional methods are tested, too.
type Grouper interface {
	Join(context.Context) error
	Leave(context.Context) error
	Members(context.Context) ([]string, error)
}

type watcher interface {
	Changed(ctx context.Context, known []string) ([]string, error)
}

// Membership is the membership workload for a recipe. new is called once for each user of a
// session, with the name by which the group is to know it; all must be about the same group.
func Membership(new func(c recipes.Conn, path, name string) Grouper, opts ...Option) *Workload {
	var w *Workload
	w = workloadOf("membership", linearizability.Model{}, func(c recipes.Conn, path string) func(string) Grouper {
		return func(name string) Grouper { return Typed(w, new(c, path, name)) }
	}, planMembership, opts)
	return w
}

// membershipEpisode is one planned episode.
type membershipEpisode struct {
	Script[stay]
	ended []*world.Op // waits for a change that were ended because nothing moved
}

// stay is one turn of a user: join, look around, leave; or only look around.
type stay struct {
	outside     bool
	looks       []string // members, changed
	cancelLeave bool
}

func planMembership(p *world.Plan, path string) Episode {
	return &membershipEpisode{Script: planScript(p, path, 4, drawStay)}
}

func drawStay(p *world.Plan, label string) stay {
	s := stay{outside: p.Choose(4, label) == 3}
	for range [...]int{1, 0, 2}[p.Choose(3, label)] {
		s.looks = append(s.looks, [...]string{"members", "changed", "members"}[p.Part(3, label)])
	}
	s.cancelLeave = p.Faults.Has(world.Cancel) && p.Choose(8, label) == 7
	return s
}

// MayWaitForever: a wait for a change may last for ever. Whether there was one is judged later.
func (e *membershipEpisode) MayWaitForever(_, waiting []*world.Op) []*world.Op {
	inOrder := still(waiting, "changed")
	e.ended = append(e.ended, inOrder...)
	return inOrder
}

// visitor is a user of a group and what it knows of it.
type visitor struct {
	User
	group Grouper
	name  string
	known []string
}

func (e *membershipEpisode) Run(u User) {
	name := "m" + strconv.Itoa(u.Client()+1) + string(rune('a'+u.Index())) + strconv.Itoa(u.Life()+1)
	m := &visitor{User: u, group: e.Make(u).(func(string) Grouper)(name), name: name}
	e.AtDeath(u, func() { e.Over(u, m.group) })
	for turn := range e.Turns(u) {
		if turn.outside {
			m.lookAround(turn.looks)
		} else {
			e.visit(m, turn)
		}
	}
	e.Finally(u, m.comeAndGo)
	e.Over(u, m.group)
}

func (e *membershipEpisode) visit(m *visitor, turn stay) {
	h, _ := m.join()
	if h == nil {
		return
	}
	m.lookAround(turn.looks)
	h.Believes()
	giveBack(m, "leave", m.name, nil, m.group.Leave, turn.cancelLeave)
}

func (m *visitor) join() (*Held, *world.Op) {
	ctx, op := m.Begin("join", m.name, true)
	if err := m.group.Join(ctx); err != nil {
		m.End(op, world.Unknown, "", err)
		return nil, op
	}
	h := begin(m.User, holder{believer: believerOf(m.group)}, op)
	m.End(op, world.OK, "", nil)
	return h, op
}

// comeAndGo joins and leaves.
func (m *visitor) comeAndGo() *world.Op {
	h, op := m.join()
	if h != nil {
		giveBack(m, "leave", m.name, nil, m.group.Leave, false)
	}
	return op
}

func (m *visitor) lookAround(looks []string) {
	for _, look := range looks {
		if w, has := can[watcher](m.group, "Changed"); look == "changed" && has {
			known := slices.Clone(m.known)
			changed := func(ctx context.Context) ([]string, error) { return w.Changed(ctx, known) }
			m.look(look, strings.Join(known, " "), changed)
		} else {
			m.look("members", "", m.group.Members)
		}
	}
}

func (m *visitor) look(name, known string, ask func(context.Context) ([]string, error)) {
	ctx, op := m.Begin(name, known, true)
	members, err := ask(ctx)
	if err != nil {
		m.End(op, world.Fail, "", err)
		return
	}
	m.known = slices.Sorted(slices.Values(members))
	m.End(op, world.OK, strings.Join(m.known, " "), nil)
}

func (e *membershipEpisode) Judge(v *View) Judgement {
	j := e.Judging(v)
	states, known := v.groupStates()
	j.beliefs(v, func(op *world.Op, at int64) bool { return has(states, op.Arg, at, at) })
	j.Add(v.Stuck()...)
	j.Judges("snapshot", known)
	j.Add(v.wrongLists(states)...)
	if j.Judges("lost-wakeup", known) {
		j.Add(e.missedChanges(v, states)...)
	}
	j.Add(v.UnexpectedErrors(Gone)...)
	if len(j.Violations) == 0 {
		j.Add(v.Leaks()...)
	}
	j.History = e.History(v)
	return j
}

func (e *membershipEpisode) History(v *View) linearizability.History {
	h := v.converted(func(op *world.Op, add func(linearizability.Operation)) { add(textOf(op)) })
	for _, join := range where(v.Ops, func(op *world.Op) bool { return op.Name == "join" && op.Outcome == world.OK }) {
		stay := Hold{Op: join, Release: v.leaveOf(join), To: v.told(join)}
		if end, ended := v.SessionEnd(join.SessionAt); ended {
			stay.To = min(stay.To, end)
		}
		if stay.Cut = "it ended without a call"; stay.Release != nil && stay.Release.Call < stay.To {
			stay.To, stay.Cut = stay.Release.Call, ""
		}
		stay.To = max(stay.To, join.Call)
		h = append(h, v.outside(stay, "leave", join.Arg)...)
	}
	return byReturn(h)
}

// looks reports whether an operation returns a list of members.
func looks(op *world.Op) bool { return op.Name == "members" || op.Name == "changed" }

// wrongLists finds the first list of members that is not true of a moment in its call.
func (v *View) wrongLists(states []groupState) []sim.Violation {
	for _, op := range v.Ops {
		if !looks(op) || op.Outcome != world.OK {
			continue
		}
		if found := v.wrongList(op, states); found.Property != "" {
			found.Message = fmt.Sprintf("%s returned [%s], %s", v.CallWith(op), op.Result, found.Message)
			found.Ops = append([]*world.Op{op}, found.Ops...)
			return []sim.Violation{found}
		}
	}
	return nil
}

func (v *View) wrongList(op *world.Op, states []groupState) sim.Violation {
	members := strings.Fields(op.Result)
	for _, join := range v.Ops {
		if join.Name == "join" && !slices.Contains(members, join.Arg) && v.surelyIn(join, op) {
			return sim.Violation{Property: "missing", Ops: []*world.Op{join}, Message: fmt.Sprintf(
				"without %s, which had joined at %s and had not left", join.Arg, v.When(join))}
		}
	}
	for _, name := range members {
		in := func(join *world.Op) bool { return join.Name == "join" && join.Arg == name && v.maybeIn(join, op) }
		if !slices.ContainsFunc(v.Ops, in) && !has(states, name, op.Call, op.Return) {
			return sim.Violation{Property: "ghost", Message: fmt.Sprintf(
				"but %s was out of the group all that time: not in yet, or it had left, or its session had ended",
				name)}
		}
	}
	if op.Name == "changed" && op.Result == op.Arg {
		return sim.Violation{Property: "unchanged", Message: "which is what it knew already"}
	}
	if states != nil && !existed(states, op) {
		return sim.Violation{Property: "snapshot", Message: "but at no moment in that time were these the members"}
	}
	return sim.Violation{}
}

// leaveOf is the leave that ended what a join began, nil if there is none.
func (v *View) leaveOf(join *world.Op) *world.Op {
	i := slices.Index(v.Ops, join)
	return Role{Acquire: "join", Release: "leave"}.released(v.Ops[i+1:], join)
}

// surelyIn reports whether the member that a join made was in the group during a whole operation.
func (v *View) surelyIn(join, during *world.Op) bool {
	if join.Outcome != world.OK || join.Return > during.Call {
		return false
	}
	if leave := v.leaveOf(join); leave != nil && leave.Call < during.Return {
		return false
	}
	end, ended := v.SessionEnd(join.SessionAt)
	return (!ended || end > during.Return) && v.told(join) > during.Return
}

// maybeIn reports whether it may have been in the group at a moment of an operation. The end of a
// session counts where it is known, and for a join that succeeded: then its znode is of that one.
func (v *View) maybeIn(join, during *world.Op) bool {
	if join.Call > during.Return {
		return false
	}
	if leave := v.leaveOf(join); leave != nil && leave.Outcome == world.OK && leave.Return < during.Call {
		return false
	}
	since, known := v.SessionGone(join.SessionAt)
	return join.Outcome != world.OK || !known || since >= during.Call
}

// groupState is the members of the group from one step on until another.
type groupState struct {
	members  string
	from, to int
}

// has reports whether a name is a member's, at a moment of a time between two stamps.
func has(states []groupState, name string, from, to int64) bool {
	return slices.ContainsFunc(states, func(s groupState) bool {
		return s.from <= world.StepOf(to) && s.to >= world.StepOf(from) && slices.Contains(strings.Fields(s.members), name)
	})
}

// groupStates lists the states of the group, as its ephemeral znodes tell: a member is in it as long as one of its own is
// there, whichever call made it, or none. It is not known if it is not known whose they are, or which are the group's, as
// they are in several directories.
func (v *View) groupStates() (states []groupState, known bool) {
	made, known := v.commits()
	if !known {
		return nil, false
	}
	in := map[string]string{} // by path
	states = []groupState{{to: neverStep}}
	directory := ""
	for i := range made.all {
		c := &made.all[i]
		switch {
		case c.Op == wire.OpCreate && c.Owner != 0:
			name, of := made.member(c)
			switch {
			case !of || name != "" && directory != "" && directory != parentOf(c.Path):
				return nil, false
			case name != "":
				directory, in[c.Path] = parentOf(c.Path), name
			}
		case c.Op == wire.OpDelete:
			delete(in, c.Path)
		}
		if i+1 < len(made.all) && made.all[i+1].Zxid == c.Zxid {
			continue // one transaction
		}
		states[len(states)-1].to = c.Step
		members := slices.Compact(slices.Sorted(maps.Values(in)))
		states = append(states, groupState{strings.Join(members, " "), c.Step, neverStep})
	}
	return states, true
}

// member is the name of the member that an ephemeral znode stands for: that of the user whose call has asked for it, or else
// of the only one that has joined under its session, or whose name it bears. "" is a user's that has never joined.
func (c commits) member(made *world.Change) (name string, known bool) {
	by := c.by(made)
	joined := where(c.ops, func(op *world.Op) bool {
		return op.Name == "join" && (by != nil && SameUser(op, by) || by == nil && op.SessionAt == made.Owner)
	})
	bears := func(op *world.Op) bool {
		return strings.Contains(made.Path, op.Arg) || strings.Contains(string(made.Data), op.Arg)
	}
	if several := slices.ContainsFunc(joined, func(op *world.Op) bool { return op.Arg != joined[0].Arg }); several {
		joined = where(joined, bears)
	}
	if len(joined) == 0 {
		return "", by != nil
	}
	return joined[0].Arg, !slices.ContainsFunc(joined, func(op *world.Op) bool { return op.Arg != joined[0].Arg })
}

func existed(states []groupState, op *world.Op) bool {
	call, end := world.StepOf(op.Call), world.StepOf(op.Return)
	return slices.ContainsFunc(states, func(s groupState) bool {
		return s.members == op.Result && s.from <= end && s.to >= call
	})
}

// missedChanges finds waits for a change that were still waiting when nothing moved any more,
// although the group was not as their callers knew it.
func (e *membershipEpisode) missedChanges(v *View, states []groupState) []sim.Violation {
	for _, op := range e.ended {
		if op.Err == nil {
			continue
		}
		i := slices.IndexFunc(states, func(s groupState) bool { return s.to > world.StepOf(op.Return) })
		if states[i].members != op.Arg {
			return Broken("lost-wakeup", []*world.Op{op},
				"%s waits in changed(%s), called at %s, and is not woken, "+
					"although the members are [%s] since step %d",
				Who(op), op.Arg, v.Moment(op.Call), states[i].members, states[i].from)
		}
	}
	return nil
}
