package workload

// The election workload.
//
// Clients, some with two users on one session, campaign for one office, command something while they lead, with their
// token if they have one, and resign, again and again; they ask for the leader, wait, give up, crash and come back. A
// third of the terms take time, as a lock's holds do.
//
// Properties, besides belief, idle, false-lost, progress, no leaks, unexpected-error and unusable, which are those of a
// lock:
//
//   - exclusion: no two candidates lead while both their sessions are alive. A term begins when Campaign returns and
//     ends when Resign is called, when the candidate is told that it is over, or when the session ends at the servers.
//     exclusion-in-session is the same for two users of one session.
//   - fencing: tokens grow from term to term. Judged if the recipe has Token.
//   - stale-leader: the leader that a call names led at a moment during the call. Judged if the recipe has Leader and
//     Token.
//   - order: among candidates that queue with sequential znodes, none is elected while an older znode of a waiting
//     candidate is there.
//   - herd: the deletion of one znode wakes at most one waiting candidate.

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// electionKind is the table's line for this kind, see [Kind].
var electionKind = Kind{
	Name:     "election",
	Model:    linearizability.Election(),
	optional: optionally[candidateRecipe](),
	Promises: []Promise{
		{Names: []string{"exclusion"}, Text: "no two candidates lead while both sessions are alive"},
		{Names: []string{"belief"}, Text: "a client that has been told that its session is gone stops acting as the leader"},
		{Names: []string{"fencing"}, Text: "each term has a greater token than the one before"},
		{Names: []string{"stale-leader"}, Text: "the leader that a call returns led at some moment during the call"},
		{Names: []string{"order"}, Text: "candidates are elected in queue order"},
		{Names: []string{"herd"}, Text: "the end of a term wakes one candidate"},
		{
			Names: []string{"progress"},
			Text:  "once faults are healed every candidate is elected",
			Also:  []string{"lost-wakeup", "self-block", "orphan"},
		},
		busy, truthful, usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		electionEntry(Ours, "recipes.Candidate: fair, with tokens, told of loss",
			func(c recipes.Conn, path string) Candidate { return recipes.NewCandidate(c, path) }),
	},
}

var electionEntry = entries("election", Election)

// Candidate is a candidate for leadership as the workload uses it: Campaign returns once it is
// elected. A recipe may also have
//
//	Lost() <-chan struct{}  // closed when the present term is known to be lost
//	Token() int64           // of the present term
//	IsOwner() bool          // whether it leads
//	Leader(context.Context) (data []byte, token int64, err error) // recipes.ErrNoLeader
//
// and is then checked in these too.
type Candidate interface {
	Campaign(context.Context) error
	Resign(context.Context) error
}

type leaderTeller interface {
	Leader(context.Context) (data []byte, token int64, err error)
}

// candidateRecipe is a candidate with what it can do, see [able].
type candidateRecipe struct {
	Candidate
	Teller leaderTeller
	holder
}

// Election is the election workload for a recipe. new is called once for each user of a session;
// all that it returns must be candidates for the same office.
func Election(new func(c recipes.Conn, path string) Candidate, opts ...Option) *Workload {
	return workloadOf("election", linearizability.Election(), new, planElection, opts)
}

// leadership is what the candidates want.
var leadership = role{noun: "the leadership", acquire: "elected", release: "resigned", signed: true}

// electionEpisode is one planned episode: the scripts, and what the leader commands.
type electionEpisode struct {
	Script[term]
	new      maker[Candidate]
	followed resource
	zombies  []sim.Violation // of belief, found by the users themselves
}

// term is one turn of a user: campaign, command, resign; or only ask for the leader.
type term struct {
	ask, askInOffice bool
	commands         int
	errands          []errand
	cancelResign     bool
}

func planElection(p *sim.Plan, path string, new maker[Candidate]) *electionEpisode {
	return &electionEpisode{Script: planScript(p, path, 4, drawTerm), new: new}
}

func drawTerm(p *sim.Plan, label string) term {
	return term{
		ask:          p.Choose(4, label) == 3,
		askInOffice:  p.Choose(4, label) == 3,
		commands:     [...]int{1, 2, 0}[p.Choose(3, label)],
		cancelResign: p.Faults.Has(sim.Cancel) && p.Choose(8, label) == 7,
		errands:      drawErrands(p, label),
	}
}

func (e *electionEpisode) Run(u User) {
	made := func(c recipes.Conn, path string) candidateRecipe {
		return able[candidateRecipe](&e.terms, e.new(c, path))
	}
	c := made(u.Conn(), e.Path)
	h := e.household(u, func(c recipes.Conn, path string) secondObject {
		inner := made(c, path)
		return secondObject{recipe: inner.Candidate, holder: inner.holder, take: inner.Campaign, give: inner.Resign}
	})
	over := func() {
		h.end()
		e.Over(c.Candidate)
	}
	e.AtDeath(u, over)
	for turn := range e.Turns(u) {
		if turn.ask && c.Teller != nil {
			askLeader(u, c.Teller)
			continue
		}
		e.serve(u, c, turn, h)
	}
	e.afresh(u, func() *sim.Op {
		return taking(u, c.holder, leadership.acquire, c.Campaign, leadership.release, c.Resign)
	}, func() {
		e.Over(c.Candidate)
		c = made(u.Conn(), e.Path)
	})
	over()
}

func (e *electionEpisode) serve(u User, c candidateRecipe, turn term, home *household) {
	h := take(u, c.holder, leadership.acquire, method{wait: c.Campaign})
	if h == nil {
		return
	}
	for range turn.commands {
		if !e.command(u, c, h) {
			break
		}
	}
	home.dwell(turn.errands, func() bool { return e.command(u, c, h) })
	if turn.askInOffice && c.Teller != nil {
		askLeader(u, c.Teller)
	}
	giveBack(u, c.believer, h, leadership.release, c.Resign, turn.cancelResign)
}

// command commands something if the user believes that it leads.
func (e *electionEpisode) command(u User, c candidateRecipe, h *hold) bool {
	if !believes(u, c.believer, h, &e.zombies) {
		return false
	}
	u.Do("command", func() string { return e.followed.write(h) })
	return true
}

func askLeader(u User, teller leaderTeller) {
	ctx, op := u.Begin("leader", "", true)
	_, token, err := teller.Leader(ctx)
	switch {
	case errors.Is(err, recipes.ErrNoLeader):
		u.End(op, sim.OK, "0", nil)
	case err != nil:
		u.End(op, sim.Fail, "", err)
	default:
		u.End(op, sim.OK, strconv.FormatInt(token, 10), nil)
	}
}

func (e *electionEpisode) Judge(v *View) Judgement {
	terms := v.holds(leadership)
	j := e.Judging(v)
	j.Add(exclusion(v, terms, leadership, always)...)
	j.beliefs(v, e.zombies)
	j.Add(fencing(v, terms, leadership, always)...)
	j.idle(v, leadership.waits, terms, 1)
	j.inner(v)
	j.falseLost(v, terms)
	j.Add(staleLeaders(v, terms)...)
	j.order(v, leadership)
	j.herds(v, 1, nil)
	j.holding(v, leadership, linearizability.Election(), e.History(v))
	return j
}

// History has the terms only: what Leader returned is judged apart.
func (e *electionEpisode) History(v *View) linearizability.History { return v.tenures(leadership) }

// staleLeaders finds answers that were true at no moment of their call.
func staleLeaders(v *View, terms []interval) []sim.Violation {
	for _, op := range v.Ops {
		if op.Name != "leader" || op.Outcome != sim.OK {
			continue
		}
		token, _ := strconv.ParseInt(op.Result, 10, 64)
		for _, t := range terms {
			if wrong := contradiction(v, op, token, t); wrong != "" {
				return broken("stale-leader", []*sim.Op{t.op, op},
					"%s asked at %s who leads and was told %s, but %s %s",
					Who(op), v.When(op), tokenText(token), Who(t.op), wrong)
			}
		}
	}
	return nil
}

func tokenText(token int64) string {
	if token == 0 {
		return "that nobody does"
	}
	return fmt.Sprintf("token %d", token)
}

// contradiction says how a term shows that an answer was true at no moment of its call.
func contradiction(v *View, op *sim.Op, token int64, t interval) string {
	over := t.release != nil && t.release.Outcome == sim.OK && t.release.Return < op.Call
	switch {
	case t.token == 0 || t.end <= t.start:
		return ""
	case t.start < op.Call && op.Return < t.end && token != t.token:
		return fmt.Sprintf("led with token %d from %s%s", t.token, v.Moment(t.start), until(v, t))
	case over && token == t.token:
		return fmt.Sprintf("had resigned the term with that token at %s", v.Moment(t.release.Return))
	case t.start < op.Call && token != 0 && token < t.token:
		return fmt.Sprintf("had been elected with the greater token %d at %s", t.token, v.Moment(t.start))
	}
	return ""
}
