package workload

// The double barrier workload.
//
// Clients, some with two users on one session, enter one barrier together, work, and leave it together, round after
// round. There may be more of them than a round takes, or fewer; they wait, give up, crash and come back.
//
// A member is there from its call of Enter to its call of Leave or the end of its session. One that has given up is there
// until its znodes are gone, if they ever go: a recipe may need time to remove them. One user is one member, however often
// it tries. A member is inside from the return of Enter to the call of Leave or its death.
//
// Under expiry, pause and crash a member is dead from the moment at which the servers end its session: others may leave and
// begin another round while it still believes to be inside, which no barrier over ZooKeeper can prevent. A process that dies
// is there until then, even if it has started again meanwhile.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// doubleBarrierKind is the table's line for this kind, see [Kind].
var doubleBarrierKind = Kind{
	Name:  "doublebarrier",
	Model: linearizability.DoubleBarrier(2),
	Promises: []Promise{
		{
			Names: []string{"early-enter"},
			Text:  "no enter returns unless all parties are present at one moment, and rounds do not mix",
		},
		{Names: []string{"early-leave"}, Text: "no leave returns while a party is inside"},
		{
			Names: []string{"progress"},
			Text:  "a round begins when enough members wait, and ends when all have left or died",
			Also:  []string{"lost-wakeup", "orphan"},
		},
		tidy, noLeaks,
	},
	Recipes: []Entry{
		doubleBarrierEntry(Ours, 2,
			"recipes.DoubleBarrier for 2 parties: rounds that never mix, whoever dies or gives up"),
		doubleBarrierEntry("ours/3", 3, "recipes.DoubleBarrier for 3 parties"),
	},
}

func doubleBarrierEntry(recipe string, parties int, help string) Entry {
	return entry("doublebarrier", recipe, help, func(opts ...Option) *Workload {
		return DoubleBarrier(parties, func(c recipes.Conn, path string) Rendezvous {
			return recipes.NewDoubleBarrier(c, path, parties)
		}, opts...)
	})
}

// Rendezvous is one member of a double barrier, as the workload uses it. Enter returns when a round
// has begun in which the member takes part; one that comes when a round is full may be let in at
// once or wait for the next. Leave returns when all have left.
type Rendezvous interface {
	Enter(context.Context) error
	Leave(context.Context) error
}

// DoubleBarrier is the workload of a double barrier for a number of parties. new is called once for each user
// of a session; all that it returns must be members of the same barrier.
func DoubleBarrier(parties int, new func(c recipes.Conn, path string) Rendezvous, opts ...Option) *Workload {
	layout := agree(opts).layout
	plan := func(p *world.Plan, path string) Episode {
		e := &roundsEpisode{Script: Script[roundTurn]{Path: path, layout: layout(p, parties)}, parties: parties}
		e.Missing = p.Choose(4, "the parent is missing") == 3
		e.Draw(p, p.Ops, drawRoundTurn)
		return e
	}
	return workloadOf("doublebarrier", linearizability.DoubleBarrier(parties), new, plan, opts)
}

// roundsEpisode is one planned episode.
type roundsEpisode struct {
	Script[roundTurn]
	parties int
}

// roundTurn is a user's part in one round: enter, work, leave.
type roundTurn struct {
	work        int
	cancelLeave bool
}

func drawRoundTurn(p *world.Plan, label string) roundTurn {
	t := roundTurn{work: [...]int{1, 0, 2}[p.Choose(3, label)]}
	t.cancelLeave = p.Faults.Has(world.Cancel) && p.Choose(4, label) == 3
	return t
}

// drawParties draws a layout in which there are usually enough users for a round.
func drawParties(p *world.Plan, parties int) []int {
	users := drawUsers(p)
	if p.Choose(8, "too few") == 7 {
		return users
	}
	for n := slot(users, len(users), 0); n < parties && n < p.Clients*usersMax; n++ {
		if len(users) < p.Clients {
			users = append(users, 1)
			continue
		}
		users[n%len(users)]++
	}
	return users
}

// usersMax is how many users a session may have for a round to be full.
const usersMax = 4

// MayWaitForever: members may wait for ever to enter if there are too few of them, but never to leave.
// As long as a member waits in vain at one of two barriers, nothing is done to the others.
func (e *roundsEpisode) MayWaitForever(_, waiting []*world.Op) (inOrder []*world.Op) {
	for _, v := range e.barriers(&View{Waiting: waiting}) {
		fine := e.mayWait(v.Waiting)
		if len(v.Waiting) > 0 && len(fine) == 0 {
			return nil
		}
		inOrder = append(inOrder, fine...)
	}
	return inOrder
}

func (e *roundsEpisode) mayWait(waiting []*world.Op) []*world.Op {
	leaves := slices.ContainsFunc(waiting, func(op *world.Op) bool { return op.Name != "enter" })
	if leaves || len(waiting) >= e.parties {
		return nil
	}
	return still(waiting, "enter")
}

func (e *roundsEpisode) Run(u User) {
	path := e.Path
	if e.terms.apart && u.Index() > 0 {
		path += otherEnding
	}
	barrier := e.Script.make(u.Conn(), path).(Rendezvous)
	e.AtDeath(u, func() { e.Over(u, barrier) })
	for turn := range e.Turns(u) {
		takePart(u, barrier, turn)
	}
	e.Over(u, barrier)
}

func takePart(u User, barrier Rendezvous, turn roundTurn) {
	ctx, op := u.Begin("enter", "", true)
	err := barrier.Enter(ctx)
	if err != nil {
		u.End(op, world.Unknown, "", err)
		return
	}
	u.End(op, world.OK, "", nil)
	for range turn.work {
		u.Do("work", func() string { return "inside" })
	}
	giveBack(u, "leave", "", nil, barrier.Leave, turn.cancelLeave)
}

func (e *roundsEpisode) Judge(v *View) Judgement {
	j := e.Judging(v)
	for _, v := range e.barriers(v) {
		members := e.members(v)
		j.Add(e.earlyEnter(v, members)...)
		j.Add(e.earlyLeave(v, members)...)
		j.Add(e.stuck(v)...)
	}
	j.Add(v.UnexpectedErrors(Gone)...)
	h := e.History(v)
	if len(j.Violations) == 0 {
		j.Add(v.Leaks()...)
		j.Check(v, linearizability.DoubleBarrier(e.parties), h)
	}
	j.History = h
	return j
}

// attendance is one Enter and what followed from it, as stamps.
type attendance struct {
	enter, leave *world.Op // leave is nil if there was none
	there        [2]int64
	inside       [2]int64 // of an Enter that failed: nothing
	died         string   // why it was over without a Leave
}

// members lists the attendances, by call.
func (e *roundsEpisode) members(v *View) (all []attendance) {
	for i, op := range v.Ops {
		if op.Name != "enter" {
			continue
		}
		m := attendance{enter: op}
		if op.Outcome == world.OK {
			m.leave = nextOf(v.Ops[i+1:], op)
			v.succeeded(&m)
		} else {
			m.there = [2]int64{op.Call, v.gaveUp(op)}
		}
		all = append(all, m)
	}
	return all
}

// nextOf returns the next operation of the same user, nil if there is none.
func nextOf(later []*world.Op, op *world.Op) *world.Op {
	for _, next := range later {
		if clientID(next) == clientID(op) {
			return next
		}
	}
	return nil
}

// succeeded works out for how long a member whose Enter succeeded was there and inside.
func (v *View) succeeded(m *attendance) {
	m.there, m.inside = [2]int64{m.enter.Call, never}, [2]int64{m.enter.Return, never}
	if m.leave != nil {
		m.there[1], m.inside[1] = m.leave.Call, m.leave.Call
	}
	if end, ended := v.Crash(m.enter.Client, m.enter.Incarnation); ended && end < m.inside[1] {
		m.inside[1], m.died = end, "its process died"
	}
	if end, ended := v.SessionEnd(m.enter.SessionAt); ended {
		if end < m.inside[1] {
			m.inside[1], m.died = end, "its session ended"
		}
	}
	if since, known := v.SessionGone(m.enter.SessionAt); known {
		m.there[1] = min(m.there[1], max(since, m.there[0]))
	}
}

// gaveUp returns until when a member was there whose Enter did not succeed: as long as a znode that it has made
// exists, if that is removed at all; at least until Enter returned or the process died.
func (v *View) gaveUp(op *world.Op) int64 {
	changes, known := v.Changes()
	if !known {
		return never
	}
	end := op.Return
	if end == 0 {
		died, crashed := v.Crash(op.Client, op.Incarnation)
		if !crashed {
			return never // it still waits
		}
		end = died
	}
	made := map[string]bool{}
	for _, c := range changes {
		switch {
		case c.Op == wire.OpCreate && c.By == op.Number && c.Owner != 0:
			made[c.Path] = true
		case c.Op == wire.OpDelete && made[c.Path]:
			end = max(end, world.StampOf(c.Step))
		}
	}
	return end
}

// earlyEnter finds an Enter that returned although there were never enough members.
func (e *roundsEpisode) earlyEnter(v *View, members []attendance) []sim.Violation {
	near := members // without the first ones, if these were over
	for _, m := range members {
		for near[0].there[1] < m.enter.Call {
			near = near[1:]
		}
		if m.enter.Outcome != world.OK {
			continue
		}
		if most := mostAtOnce(near, m.enter.Call, m.enter.Return); most < e.parties {
			return Broken("early-enter", []*world.Op{m.enter},
				"%s's enter at %s succeeded although at most %d of %d members were present at any time during it%s",
				Who(m.enter), v.When(m.enter), most, e.parties, e.others(v, members, m.enter))
		}
	}
	return nil
}

// mostAtOnce returns how many users at most were there at one moment between two stamps.
func mostAtOnce(members []attendance, from, to int64) (most int) {
	for i := 0; i < len(members) && members[i].there[0] <= to; i++ {
		if members[i].there[1] >= from {
			most = max(most, thereAt(members, max(members[i].there[0], from)))
		}
	}
	return most
}

func thereAt(members []attendance, t int64) int {
	var users []int
	for i := 0; i < len(members) && members[i].there[0] <= t; i++ {
		if user := clientID(members[i].enter); t <= members[i].there[1] && !slices.Contains(users, user) {
			users = append(users, user)
		}
	}
	return len(users)
}

// others says when others than op's user were there, as far as that was near op.
func (e *roundsEpisode) others(v *View, members []attendance, op *world.Op) (text string) {
	for _, m := range members {
		if m.enter == op || m.there[0] > op.Return || m.there[1] < op.Call && m.there[1] < op.Call-1 {
			continue
		}
		text += fmt.Sprintf("; %s was there from %s", Who(m.enter), v.Moment(m.there[0]))
		if m.there[1] != never {
			text += " to " + v.Moment(m.there[1])
		}
	}
	return text
}

// earlyLeave finds a Leave that returned although there was always a member inside.
func (e *roundsEpisode) earlyLeave(v *View, members []attendance) []sim.Violation {
	for _, m := range members {
		if m.leave == nil || m.leave.Name != "leave" || m.leave.Outcome != world.OK {
			continue
		}
		if in := alwaysInside(members, m.leave.Call, m.leave.Return); len(in) > 0 {
			return Broken("early-leave", []*world.Op{in[0].enter, m.leave},
				"%s's leave at %s succeeded although somebody was inside throughout: "+
					"%s, which entered at %s, was inside %s",
				Who(m.leave), v.When(m.leave), Who(in[0].enter), v.Moment(in[0].enter.Return), v.insideUntil(in[0]))
		}
	}
	return nil
}

func (v *View) insideUntil(m attendance) string {
	if m.inside[1] == never {
		return "and did not leave"
	}
	return "until " + v.Moment(m.inside[1])
}

// alwaysInside returns the members that were inside at the last possible moment between two stamps, if there were
// some at each.
func alwaysInside(members []attendance, from, to int64) (last []attendance) {
	moments := []int64{from, to}
	for i := range members {
		if end := members[i].inside[1]; from <= end && end <= to {
			moments = append(moments, end)
		}
	}
	slices.Sort(moments)
	for _, t := range moments {
		if last = insideAt(members, t); len(last) == 0 {
			return nil
		}
	}
	return last
}

func insideAt(members []attendance, t int64) (in []attendance) {
	for i := range members {
		if m := &members[i]; m.inside[0] < t && t < m.inside[1] {
			in = append(in, *m)
		}
	}
	return in
}

// stuck explains what still waits although all faults were healed.
func (e *roundsEpisode) stuck(v *View) []sim.Violation {
	if len(v.Waiting) == 0 {
		return nil
	}
	op := v.Waiting[0]
	path, maker, known := v.abandoned()
	switch {
	case !known:
		return []sim.Violation{sim.Violation{Property: "progress", Ops: v.Waiting}.Saying(
			"%v; %d of %d members wait", v.Explain(op), len(v.Waiting), e.parties)}
	case maker != nil:
		return []sim.Violation{sim.Violation{Property: "orphan", Ops: []*world.Op{op, maker}}.Saying(
			"%v; %s, made by %s, which is over, is still there", v.Explain(op), world.Path(path), v.call(maker))}
	}
	return []sim.Violation{sim.Violation{Property: "lost-wakeup", Ops: v.Waiting}.Saying(
		"%v, although %s", v.Explain(op), e.nothingMissing(v, op))}
}

func (e *roundsEpisode) nothingMissing(v *View, op *world.Op) string {
	if op.Name == "leave" {
		return "nobody works inside any more"
	}
	return fmt.Sprintf("%d members wait at a barrier of %d and nobody works inside", len(v.Waiting), e.parties)
}

// abandoned returns an ephemeral znode of an operation that is over, and that operation. (An Enter
// that succeeded is over when its Leave is.)
func (v *View) abandoned() (path string, maker *world.Op, known bool) {
	return v.Abandoned(v.Ops, v.Left.Path, func(by *world.Op) bool {
		return slices.ContainsFunc(v.Waiting, func(w *world.Op) bool {
			return w.Name == "leave" && clientID(w) == clientID(by)
		})
	})
}

// History is the episode for the model of a barrier. Deaths are in it as leaves of unknown outcome.
func (e *roundsEpisode) History(v *View) linearizability.History {
	var h linearizability.History
	for _, v := range e.barriers(v) {
		object := strings.TrimPrefix(v.Left.Path, e.Path)
		h = append(h, v.converted(func(op *world.Op, add func(linearizability.Operation)) {
			o := operationOf(op)
			o.Object = object
			add(o)
		})...)
		for _, m := range e.members(v) {
			if m.died == "" {
				continue
			}
			h = append(h, linearizability.Operation{
				Client: clientID(m.enter), Op: "leave", Call: m.inside[1], Return: linearizability.Forever,
				Outcome: linearizability.Unknown, Note: m.died, Object: object,
			})
		}
	}
	return byReturn(h)
}

// fullLayout has as many users as a round takes.
func fullLayout(p *world.Plan, parties int) []int {
	layout := make([]int, 1+p.Choose(min(p.Clients, parties), world.LabelClients))
	for i := range parties {
		layout[i%len(layout)]++
	}
	return layout
}

// otherEnding is where the second users of all clients meet, if there are two barriers.
const otherEnding = "-other"

// barriers are what there is to see of each barrier.
func (e *roundsEpisode) barriers(v *View) []*View {
	if !e.terms.apart {
		return []*View{v}
	}
	var all [2]View
	for i := range all {
		all[i] = *v
		all[i].Ops, all[i].Waiting = usersOps(v.Ops, i), usersOps(v.Waiting, i)
	}
	all[1].Left.Path += otherEnding
	return []*View{&all[0], &all[1]}
}

func usersOps(ops []*world.Op, index int) []*world.Op {
	return where(ops, func(op *world.Op) bool { return op.User == index })
}
