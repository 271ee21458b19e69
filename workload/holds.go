package workload

// What users hold, as they know it, and for how long they surely held it, as the judge knows.

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// Held is something that a user holds, as the user knows it.
type Held struct {
	user  User
	by    believer // the recipe
	op    *world.Op
	token int64
	tried bool  // by an operation that does not wait
	lost  bool  // its user has seen that Lost is closed
	asks  bool  // its user cannot be told, but has to ask
	sure  int64 // the last stamp at which the answer was that it is held; 0: it never was

	denied bool // the last answer was that it is not held
	kept   bool // the answer was that it is held when it was given back

	found []finding // by the user itself
}

// finding is a violation that a user has found itself, and when.
type finding struct {
	sim.Violation
	at int64
}

func (h *Held) find(v sim.Violation) { h.found = append(h.found, finding{v, h.user.Now()}) }

// begin notes that a user has got hold of something by an operation.
func begin(u User, by holder, op *world.Op) *Held {
	h := &Held{user: u, by: by.believer, op: op}
	if by.tokens != nil {
		h.token = by.tokens.Token()
	}
	u.Note(op, h)
	h.lasts(op)
	return h
}

// lasts notes how the user learns that it is over what an operation got.
func (h *Held) lasts(op *world.Op) {
	if h.by.loser != nil {
		h.user.Lasts(op, h.by.loser.Lost())
	} else if h.by.owner != nil {
		h.asks = !goesBySession(h.by.owner)
	}
}

// ask asks the recipe whether it is still held; it is false twice if the recipe cannot tell.
func (h *Held) ask() (still, tells bool) {
	now := h.user.Now()
	switch {
	case h.by.loser != nil:
		select {
		case <-h.by.loser.Lost():
			h.lost = true
		default:
			still = true
		}
	case h.by.owner != nil:
		still = h.by.owner.IsOwner()
		h.denied = !still
	default:
		return false, false
	}
	if still {
		h.sure = now
	}
	return still, true
}

// goesBySession reports whether an owner knows no more than its user: whether a session has ended.
func goesBySession(o owner) bool {
	k, can := o.(interface{ GoesBySession() bool })
	return can && k.GoesBySession()
}

// Believes reports whether the user goes on as the holder: it asks the recipe, if that can tell, and else looks after
// its session itself. A belief against better knowledge breaks the property belief.
func (h *Held) Believes() bool {
	told := h.user.ExpiriesSeen() > h.op.ExpiriesSeen
	still, tells := h.ask()
	if !tells {
		return !told
	}
	if still && told && h.user.SawExpiryBefore() {
		h.find(sim.Violation{Property: "belief", Ops: []*world.Op{h.op}}.Saying(
			"%s, whose %s returned at step %d under session %v, still acts as the owner "+
				"after learning that this session expired",
			Who(h.op), h.op.Name, world.StepOf(h.op.Return), world.SessionID(h.op.SessionAt)))
	}
	return still
}

// result is what the operation that got it returned, as histories have it.
func (h *Held) result() linearizability.Value {
	switch {
	case h.token != 0:
		return linearizability.Int(h.token)
	case h.tried:
		return linearizability.Bool(true)
	}
	return linearizability.Null
}

// method is a way to get hold of something. Its name is kept apart from it: that is kept with the
// operation, and the method would be allocated with it.
type method struct {
	try   trying // nil: it waits
	wait  func(context.Context) error
	names *string // of what was got, if it has any
}

func (m method) call(ctx context.Context) (bool, error) {
	if m.try != nil {
		return m.try(ctx)
	}
	err := m.wait(ctx)
	return err == nil, err
}

// take runs an operation that gets hold of something; nil if it did not.
func take(u User, by holder, name string, m method) (*Held, *world.Op) {
	ctx, op := u.Begin(name, "", true)
	got, err := m.call(ctx)
	if !got {
		end := world.OK // of a try: "not now"
		if err != nil {
			end = world.Fail
		}
		u.End(op, end, "", err)
		return nil, op
	}
	h := begin(u, by, op)
	h.tried = m.try != nil
	result := strconv.FormatInt(h.token, 10)
	if m.names != nil {
		result = *m.names
	}
	u.End(op, world.OK, result, nil)
	return h, op
}

// giveBack ends what is held, by an operation of a name.
func (h *Held) giveBack(name string, end func(context.Context) error, cancelable bool) {
	err := giveBack(h.user, name, "", nil, func(ctx context.Context) error {
		if h.asks && !h.kept {
			h.kept, _ = h.ask()
		}
		return end(ctx)
	}, cancelable)
	if h.by.loser != nil && err == nil {
		h.user.Lasts(h.op, nil)
	}
}

// giveBack ends what is held, by an operation that is about something, see [User]. A user whose call failed tries once more.
func giveBack(u User, name, arg string, about any, end func(context.Context) error, cancelable bool) (err error) {
	for range 2 {
		ctx, op := u.Begin(name, arg, cancelable)
		u.Note(op, about)
		err = end(ctx)
		u.End(op, OutcomeOf(err), "", err)
		if err == nil || gone(err) || op.Cancelled {
			break
		}
	}
	return err
}

// gone reports whether an error says that nothing is held, or not any more.
func gone(err error) bool {
	return errors.Is(err, recipes.ErrLost) || errors.Is(err, recipes.ErrNotHeld) ||
		errors.Is(err, recipes.ErrPlaceLost) || errors.Is(err, recipes.ErrNotEntered)
}

// Gone reports whether an operation failed because nothing was held, or not any more.
func Gone(op *world.Op) bool { return gone(op.Err) }

func isUnknown(op *world.Op) bool { return errors.Is(op.Err, recipes.ErrUnknownOutcome) }

// Role is what users contend for, and the names of the operations that take it and give it back.
type Role struct {
	Noun             string // in sentences: "the lock"
	Acquire, Release string
	Try              string // the operation that does not wait; "" if there is none
	Signed           bool   // in histories the release has the token, too
}

// roleOf is what an operation of a model's takes, as the table of operations has it.
func roleOf(noun, acquire string, m linearizability.Model) Role {
	back := operations.Of(operations.Of(acquire).Back)
	r := Role{Noun: noun, Acquire: acquire, Release: back.Name}
	r.Signed = back.Result == operations.Token
	for _, name := range m.Operations {
		if k := operations.Of(name); k.Tries && k.Back == back.Name {
			r.Try = name
		}
	}
	return r
}

// Take has a user take it, and returns what it holds; nil if that failed. The recipe may also have
// Token() int64 and Lost() <-chan struct{} or IsOwner() bool, as a [Locker] may.
func (r Role) Take(u User, recipe any, wait func(context.Context) error) *Held {
	h, _ := take(u, holderOf(recipe), r.Acquire, method{wait: wait})
	return h
}

// TakeSome is Take of one or several of many things: get returns their names, and so does the operation.
func (r Role) TakeSome(u User, recipe any, get func(context.Context) (names string, err error)) (*Held, *world.Op) {
	var names string
	wait := func(ctx context.Context) (err error) { names, err = get(ctx); return err }
	return take(u, holderOf(recipe), r.Acquire, method{wait: wait, names: &names})
}

// GiveBack has its user give back what it holds.
func (r Role) GiveBack(h *Held, give func(context.Context) error) {
	h.giveBack(r.Release, give, true)
}

// takes reports whether an operation is one to take the role.
func (r Role) takes(op *world.Op) bool {
	return op.Name == r.Acquire || r.Try != "" && op.Name == r.Try
}

// waits reports whether an operation waits for the role.
func (r Role) waits(op *world.Op) bool { return op.Name == r.Acquire }

// released returns the first of the later operations by which a user gives up what it got by op; nil if it never did.
func (r Role) released(later []*world.Op, op *world.Op) *world.Op {
	return endedBy(r.takes, r.Release)(later, op)
}

// endedBy returns a function that finds the operation that ends a hold: the first of the user's later ones with one of
// these names, if it does not get hold of the same again before; nil if there is none.
func endedBy(takes func(*world.Op) bool, names ...string) func(later []*world.Op, op *world.Op) *world.Op {
	return func(later []*world.Op, op *world.Op) *world.Op {
		for _, next := range later {
			switch {
			case next.Client != op.Client || next.User != op.User || next.Incarnation != op.Incarnation:
			case slices.Contains(names, next.Name):
				return next
			case takes(next):
				return nil
			}
		}
		return nil
	}
}

// Hold is the time for which a user surely held something, between two stamps. It is empty when the
// session had ended before the operation returned.
type Hold struct {
	Op       *world.Op // that got it
	Release  *world.Op // that gave it back; nil if none did
	Token    int64     // of the grant; 0 if the recipe has none
	From, To int64
	Cut      string // why it ended without a release; "" if it did not
}

// Ended reports whether it ended at all.
func (h Hold) Ended() bool { return h.To != never }

// Holds lists the holds of a role in the order of the grants: of operations that have returned
// something [Held]. One of which it is not known when it ended is left out.
func (v *View) Holds(r Role) []Hold { return v.holds(r.takes, r.released) }

const never = int64(1)<<62 - 1

// neverStep is the step of what does not happen.
const neverStep = math.MaxInt

// holds lists holds: takes tells which operations grant one if something was got by them, released
// finds among later ones that which ends it.
func (v *View) holds(takes func(*world.Op) bool, released func(later []*world.Op, op *world.Op) *world.Op) []Hold {
	all := make([]Hold, 0, (len(v.Ops)+1)/2)
	for i, op := range v.Ops {
		h, ok := op.Data.(*Held)
		if !ok || op.Outcome != world.OK || !takes(op) || v.vague(op) {
			continue
		}
		iv := Hold{Op: op, Token: h.token, From: op.Return, To: never}
		if iv.Release = released(v.Ops[i+1:], op); iv.Release != nil {
			iv.To = iv.Release.Call
		}
		if end, ended := v.Crash(op.Client, op.Incarnation); ended && end < iv.To {
			iv.To, iv.Cut = end, "its process died"
		}
		if end, ended := v.SessionEnd(op.SessionAt); ended && end < iv.To {
			iv.To, iv.Cut = end, "its session ended"
		}
		if end := v.told(op); end < iv.To {
			iv.To = end
			switch {
			case op.Told != 0 || h.lost || h.denied:
				iv.Cut = "its user was told that it is over"
			case iv.Cut == "":
				iv.Cut = operations.VagueEnd
			}
		}
		// The session may have ended before the reply came that granted the lock: it was held then
		// at some time before that end.
		iv.From = min(iv.From, max(iv.To, op.Call))
		iv.To = max(iv.From, iv.To)
		all = append(all, iv)
	}
	slices.SortStableFunc(all, byGrant)
	return all
}

// told is the last stamp at which a user surely believed to hold what an operation had got, as far
// as its recipe tells; never, if it was never told otherwise. 0: there is none.
func (v *View) told(op *world.Op) int64 {
	h, ok := op.Data.(*Held)
	switch {
	case op.Told != 0:
		return op.Told
	case ok && (h.asks && !h.kept || h.lost):
		return h.sure
	}
	return never
}

func byGrant(a, b Hold) int { return cmp.Compare(a.From, b.From) }

// Tenures is the history of a role, for a model such as [linearizability.Lock] whose operations
// have the role's names. What happened outside of operations is in it as releases of unknown
// outcome: a holder's death, or the end of its session.
func (v *View) Tenures(of Role) linearizability.History {
	return v.holdings(of.takes, v.Holds(of), func(Hold) Role { return of })
}

// holdings is the history of what is held: takes tells which operations get hold of it, and ending how a hold ends.
func (v *View) holdings(takes func(*world.Op) bool, holds []Hold, ending func(iv Hold) Role) linearizability.History {
	h := v.converted(func(op *world.Op, add func(linearizability.Operation)) {
		got, held := op.Data.(*Held)
		if !takes(op) || op.Outcome == world.OK && !held { // releases see below; a try got nothing
			return
		}
		o := operationOf(op)
		if held {
			o.Result = got.result()
		}
		if i := slices.IndexFunc(holds, func(iv Hold) bool { return iv.Op == op }); i >= 0 {
			o.Return = holds[i].From
		}
		add(o)
		if op.Outcome == world.OK && v.vague(op) {
			add(ending(Hold{Op: op}).vagueEnd(op, got))
		}
	})
	for _, iv := range holds {
		if o, ended := ending(iv).releaseOf(iv); ended {
			h = append(h, o)
		}
	}
	return byReturn(h)
}

// vague reports whether what an operation was granted may have ended before it returned, at a moment that is not known,
// with its session or not: then it was perhaps held at any moment of the call, and not after it.
func (v *View) vague(op *world.Op) bool {
	if v.told(op) == 0 {
		return true
	}
	end, ended := v.SessionEnd(op.SessionAt)
	since, known := v.SessionGone(op.SessionAt)
	return ended && end < op.Return && !(known && since == end)
}

// outside is how a hold ended, if no call says all of it: at some time from its end to when it was surely over.
func (v *View) outside(iv Hold, release, arg string) linearizability.History {
	until := linearizability.Forever
	if iv.Release != nil && iv.Release.Outcome == world.OK {
		until = iv.Release.Return
	}
	o, ended := Role{Release: release}.releaseOf(iv)
	o.Arg, o.Outcome, o.Return = linearizability.Str(arg), linearizability.OK, max(min(v.over(iv.Op), until), iv.To)
	if !ended || iv.Cut == "" && o.Return >= until {
		return nil
	}
	if o.Return == linearizability.Forever {
		o.Outcome = linearizability.Unknown
	}
	return linearizability.History{o}
}

// over is when the session of an operation had surely ended; Forever, if that is not known.
func (v *View) over(op *world.Op) int64 {
	if since, known := v.SessionGone(op.SessionAt); known {
		return max(since, op.Call)
	}
	return linearizability.Forever
}

// vagueEnd is the end of a hold of which it is not known until when it lasted: at any time from the call on.
func (of Role) vagueEnd(op *world.Op, h *Held) linearizability.Operation {
	o, _ := of.releaseOf(Hold{Op: op, Token: h.token, From: op.Call, To: op.Call, Cut: operations.VagueEnd})
	return o
}

// releaseOf is how a hold ended, as an operation of the history; false if it did not.
func (of Role) releaseOf(iv Hold) (o linearizability.Operation, ended bool) {
	o = linearizability.Operation{
		Client: clientID(iv.Op), Op: of.Release, Call: iv.To,
		Outcome: linearizability.Unknown, Return: linearizability.Forever, Note: iv.Cut,
	}
	switch {
	case iv.To == never:
		return o, false
	case iv.Cut == "":
		o.Outcome, o.Return = linearizability.OK, iv.Release.Return
		if iv.Release.Outcome != world.OK {
			o.Outcome, o.Return = linearizability.Unknown, linearizability.Forever
		}
	}
	if of.Signed && iv.Token != 0 {
		o.Result = linearizability.Int(iv.Token)
	}
	return o, true
}
