package workload

// The membership workload.
//
// Clients, some with two users on one session, join a group under names of their own, look who is
// in it, wait for changes, and leave, again and again; some only watch; they give up, crash and
// come back under a new name.
//
// Properties:
//
//   - missing: a list of members has everybody who had joined before the call and was still in
//     when it returned.
//   - ghost: it has nobody who had left before the call, whose session had ended before it, or who
//     had not begun to join when it returned.
//   - snapshot: it is a state in which the group was at one moment during the call. Judged in
//     simulation, where the states are known.
//   - unchanged: a wait for a change returns something else than what its caller knew.
//   - belief: who has been told that its session is gone does not go on as a member. Judged if the
//     recipe has Lost or IsOwner.
//   - progress: every call returns; lost-wakeup: a wait for a change returns when the group is not
//     as its caller knew it. (That all who wait are woken by a change is in the nature of it.)
//   - no leaks: no znode, watch or goroutine is left.
//   - unexpected-error: no error without a reason.
//
// All of it is promised under all faults. A member that has died, or that is cut off, is in the
// group until its session ends at the servers, and not a moment longer.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// membershipKind is the table's line for this kind, see [Kind].
var membershipKind = Kind{
	Name: "membership",
	Promises: []Promise{
		{Names: []string{"missing"}, Text: "who joined before a list was asked for, and stayed, is in it"},
		{Names: []string{"ghost"}, Text: "who left before, or whose session had ended, is not"},
		{Names: []string{"snapshot"}, Text: "a list is a state of the group at a moment during the call"},
		{Names: []string{"lost-wakeup", "unchanged"}, Text: "who waits for a change is told of one, and only of one"},
		{Names: []string{"belief"}, Text: "who has been told that its session is gone does not go on as a member"},
		{Names: []string{"progress"}, Text: "every call returns"},
		noLeaks,
	},
	Recipes: []Entry{
		membershipEntry(Ours, "recipes.Group: snapshots of who is in, told of loss", func(c recipes.Conn, path, name string) Grouper {
			return recipes.NewGroup(c, path, name)
		}),
	},
}

func membershipEntry(recipe, help string, new func(c recipes.Conn, path, name string) Grouper) Entry {
	return entry("membership", recipe, help, func(opts ...Option) *Workload { return Membership(new, opts...) })
}

// Grouper is a group, and the membership of one user in it, as the workload uses it. A recipe may
// also have
//
//	Changed(ctx context.Context, known []string) ([]string, error) // waits until it differs
//	Lost() <-chan struct{} // closed when the membership is known to be lost
//	IsOwner() bool         // whether it is a member
//
// and is then checked in these too.
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
	return agree(opts).workload("membership", linearizability.Model{}, func(p *sim.Plan, path string) Episode {
		return planMembership(p, path, new)
	}, nil)
}

// membershipEpisode is one planned episode.
type membershipEpisode struct {
	Script[stay]
	new     func(c recipes.Conn, path, name string) Grouper
	lives   []int // by slot: how often its process has started
	zombies []sim.Violation
	ended   []*sim.Op // waits for a change that were ended because nothing moved
}

// stay is one turn of a user: join, look around, leave; or only look around.
type stay struct {
	outside     bool
	looks       []string // members, changed
	cancelLeave bool
}

func planMembership(p *sim.Plan, path string, new func(c recipes.Conn, path, name string) Grouper) *membershipEpisode {
	e := &membershipEpisode{Script: NewScript[stay](p, path), new: new}
	e.Missing = p.Choose(4, "the parent is missing") == 3
	e.Draw(p, p.Ops, drawStay)
	e.lives = make([]int, len(e.turns))
	return e
}

func drawStay(p *sim.Plan, label string) stay {
	s := stay{outside: p.Choose(4, label) == 3}
	for range [...]int{1, 0, 2}[p.Choose(3, label)] {
		s.looks = append(s.looks, [...]string{"members", "changed", "members"}[p.Choose(3, label)])
	}
	s.cancelLeave = p.Faults.Has(sim.Cancel) && p.Choose(8, label) == 7
	return s
}

// MayWaitForever: a wait for a change may last for ever. Whether there was one is judged later.
func (e *membershipEpisode) MayWaitForever(_, waiting []*sim.Op) (inOrder []*sim.Op) {
	for _, op := range waiting {
		if op.Name == "changed" && !op.Cancelled {
			inOrder = append(inOrder, op)
		}
	}
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
	s := e.Slot(u)
	e.lives[s]++
	name := "m" + strconv.Itoa(u.Client()+1) + string(rune('a'+u.Index())) + strconv.Itoa(e.lives[s])
	m := &visitor{User: u, group: e.new(u.Conn(), e.Path, name), name: name}
	for turn := range e.Turns(u) {
		if turn.outside {
			m.lookAround(turn.looks)
		} else {
			e.visit(m, turn)
		}
	}
	e.Over(m.group)
}

func (e *membershipEpisode) visit(m *visitor, turn stay) {
	h := m.join()
	if h == nil {
		return
	}
	m.lookAround(turn.looks)
	believes(m.User, m.group, h, &e.zombies)
	m.leave(turn.cancelLeave)
}

func (m *visitor) join() *hold {
	ctx, op := m.Begin("join", m.name, true)
	if err := m.group.Join(ctx); err != nil {
		m.End(op, sim.Unknown, "", err)
		return nil
	}
	h := &hold{op: op, expiriesSeen: m.ExpiriesSeen()}
	m.Note(op, h)
	m.End(op, sim.OK, "", nil)
	return h
}

// leave ends the membership. A user that failed to tries once more.
func (m *visitor) leave(cancelable bool) {
	for range 2 {
		ctx, op := m.Begin("leave", m.name, cancelable)
		err := m.group.Leave(ctx)
		outcome := sim.OK
		if err != nil {
			outcome = sim.Unknown
		}
		m.End(op, outcome, "", err)
		if err == nil || gone(err) || op.Cancelled {
			return
		}
	}
}

func (m *visitor) lookAround(looks []string) {
	for _, look := range looks {
		w, can := m.group.(watcher)
		if look == "changed" && can {
			known := slices.Clone(m.known)
			m.look(look, strings.Join(known, " "), func(ctx context.Context) ([]string, error) { return w.Changed(ctx, known) })
		} else {
			m.look("members", "", m.group.Members)
		}
	}
}

func (m *visitor) look(name, known string, ask func(context.Context) ([]string, error)) {
	ctx, op := m.Begin(name, known, true)
	members, err := ask(ctx)
	if err != nil {
		m.End(op, sim.Fail, "", err)
		return
	}
	m.known = slices.Sorted(slices.Values(members))
	m.End(op, sim.OK, strings.Join(m.known, " "), nil)
}

func (e *membershipEpisode) Judge(v *View) Judgement {
	j := e.Judging(v)
	j.beliefs(v, e.zombies)
	j.Add(v.Stuck()...)
	states, known := v.groupStates()
	j.Judges("snapshot", known)
	j.Add(v.wrongLists(states)...)
	if j.Judges("lost-wakeup", known) {
		j.Add(e.missedChanges(v, states)...)
	}
	j.Add(v.UnexpectedErrors(func(op *sim.Op) bool { return gone(op.Err) })...)
	if len(j.Violations) == 0 {
		j.Add(v.Leaks()...)
	}
	j.History = e.History(v)
	return j
}

func (e *membershipEpisode) History(v *View) linearizability.History {
	h := v.History(func(op *sim.Op, add func(linearizability.Operation)) {
		o := OperationOf(op)
		o.Arg = linearizability.Str(op.Arg)
		if looks(op) && op.Outcome == sim.OK {
			o.Result = linearizability.Str(op.Result)
		}
		add(o)
	})
	slices.SortStableFunc(h, cmpReturn)
	return h
}

// looks tells whether an operation returns a list of members.
func looks(op *sim.Op) bool { return op.Name == "members" || op.Name == "changed" }

// wrongLists finds the first list of members that is not true of a moment in its call.
func (v *View) wrongLists(states []groupState) []sim.Violation {
	for _, op := range v.Ops {
		if !looks(op) || op.Outcome != sim.OK {
			continue
		}
		if found := v.wrongList(op, states); found.Property != "" {
			found.Message = fmt.Sprintf("%s's %s(%s) at %s returned [%s], %s", Who(op), op.Name, op.Arg, v.When(op), op.Result, found.Message)
			found.Ops = append([]*sim.Op{op}, found.Ops...)
			return []sim.Violation{found}
		}
	}
	return nil
}

func (v *View) wrongList(op *sim.Op, states []groupState) sim.Violation {
	members := strings.Fields(op.Result)
	for _, join := range v.Ops {
		if join.Name == "join" && !slices.Contains(members, join.Arg) && v.surelyIn(join, op) {
			return sim.Violation{Property: "missing", Ops: []*sim.Op{join}, Message: fmt.Sprintf(
				"without %s, which had joined at %s and had not left", join.Arg, v.When(join))}
		}
	}
	for _, name := range members {
		if !slices.ContainsFunc(v.Ops, func(join *sim.Op) bool { return join.Name == "join" && join.Arg == name && v.maybeIn(join, op) }) {
			return sim.Violation{Property: "ghost", Message: fmt.Sprintf(
				"but %s was out of the group all that time: not in yet, or it had left, or its session had ended", name)}
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
func (v *View) leaveOf(join *sim.Op) *sim.Op {
	i := slices.Index(v.Ops, join)
	return role{acquire: "join", release: "leave"}.released(v.Ops[i+1:], join)
}

// surelyIn tells whether the member that a join made was in the group during a whole operation.
func (v *View) surelyIn(join, during *sim.Op) bool {
	if join.Outcome != sim.OK || join.Return > during.Call {
		return false
	}
	if leave := v.leaveOf(join); leave != nil && leave.Call < during.Return {
		return false
	}
	end, ended := v.SessionEnd(join.SessionAt)
	return !ended || end > during.Return
}

// maybeIn tells whether it may have been in the group at a moment of an operation. The end of a
// session counts where it is known, and for a join that succeeded: then its znode is of that one.
func (v *View) maybeIn(join, during *sim.Op) bool {
	if join.Call > during.Return {
		return false
	}
	if leave := v.leaveOf(join); leave != nil && leave.Outcome == sim.OK && leave.Return < during.Call {
		return false
	}
	since, known := v.SessionGone(join.SessionAt)
	return join.Outcome != sim.OK || !known || since >= during.Call
}

// groupState is who was in the group from one step on until another.
type groupState struct {
	members  string
	from, to int
}

// groupStates lists the states of the group, as its ephemeral znodes tell. A member is known by the join that made its
// znode.
func (v *View) groupStates() (states []groupState, known bool) {
	made, known := v.commits()
	if !known {
		return nil, false
	}
	in := map[string]string{} // by path
	states = []groupState{{to: int(never)}}
	for i, c := range made.all {
		join := made.by(c)
		switch {
		case c.Op == fakezk.OpCreate && c.Owner != 0 && join != nil && join.Name == "join":
			in[c.Path] = join.Arg
		case c.Op == fakezk.OpDelete:
			delete(in, c.Path)
		}
		if i+1 < len(made.all) && made.all[i+1].Zxid == c.Zxid {
			continue // one transaction
		}
		states[len(states)-1].to = c.Step
		states = append(states, groupState{namesIn(in), c.Step, int(never)})
	}
	return states, true
}

func namesIn(in map[string]string) string {
	return strings.Join(slices.Sorted(maps.Values(in)), " ")
}

func existed(states []groupState, op *sim.Op) bool {
	call, end := sim.StepOf(op.Call), sim.StepOf(op.Return)
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
		i := slices.IndexFunc(states, func(s groupState) bool { return s.to > sim.StepOf(op.Return) })
		if states[i].members != op.Arg {
			return []sim.Violation{{Property: "lost-wakeup", Ops: []*sim.Op{op}, Message: fmt.Sprintf(
				"%s waits in changed(%s), called at %s, and nothing will ever wake it, although the members are [%s] since step %d",
				Who(op), op.Arg, v.Moment(op.Call), states[i].members, states[i].from)}}
		}
	}
	return nil
}
