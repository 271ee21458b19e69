package workload

// The election workload.
//
// Clients, some with two users on one session, campaign for one office, command something while they lead, with their
// token if they have one, and resign, again and again; they ask for the leader, wait, give up, crash and come back. A
// third of the terms take time, as a lock's holds do.

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// electionKind is the table's line for this kind, see [Kind].
var electionKind = Kind{
	Name:  "election",
	Model: linearizability.Election(),
	Promises: []Promise{
		{Names: []string{"exclusion"}, Text: "no two candidates lead while both sessions are alive"},
		sober("the leader"),
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
// Optional methods are tested, too.
type Candidate interface {
	Campaign(context.Context) error
	Resign(context.Context) error
}

type leaderTeller interface {
	Leader(context.Context) (data []byte, token int64, err error)
}

// Election is the election workload for a recipe. new is called once for each user of a session;
// all that it returns must be candidates for the same office.
func Election(new func(c recipes.Conn, path string) Candidate, opts ...Option) *Workload {
	return electionContest.workload(new, opts)
}

var electionContest = contest[Candidate]{
	kind: "election", model: linearizability.Election(),
	ways: []way[Candidate]{{
		Role: roleOf("the leadership", "elected", linearizability.Election()),
		take: Candidate.Campaign, give: Candidate.Resign,
	}},
	note: "command",
	ask:  askLeader, // what Leader returned is judged apart
	judge: func(_ *contestEpisode[Candidate], j *Judgement, v *View, terms []Hold) {
		j.Add(staleLeaders(v, terms)...)
	},
}

// askLeader asks who leads; false if the recipe cannot tell.
func askLeader(p *contestant[Candidate]) bool {
	teller, tells := can[leaderTeller](p.made, "Leader")
	if !tells {
		return false
	}
	ctx, op := p.Begin("leader", "", true)
	_, token, err := teller.Leader(ctx)
	switch {
	case errors.Is(err, recipes.ErrNoLeader):
		p.End(op, world.OK, "0", nil)
	case err != nil:
		p.End(op, world.Fail, "", err)
	default:
		p.End(op, world.OK, strconv.FormatInt(token, 10), nil)
	}
	return true
}

// staleLeaders finds answers that were true at no moment of their call.
func staleLeaders(v *View, terms []Hold) []sim.Violation {
	for _, op := range v.Ops {
		if op.Name != "leader" || op.Outcome != world.OK {
			continue
		}
		token, _ := strconv.ParseInt(op.Result, 10, 64)
		for i := range terms {
			if wrong := contradiction(v, op, token, &terms[i]); wrong != "" {
				return Broken("stale-leader", []*world.Op{terms[i].Op, op},
					"%s asked at %s who leads and was told %s, but %s %s",
					Who(op), v.When(op), tokenText(token), Who(terms[i].Op), wrong)
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
func contradiction(v *View, op *world.Op, token int64, t *Hold) string {
	over := t.Release != nil && t.Release.Outcome == world.OK && t.Release.Return < op.Call
	switch {
	case t.Token == 0 || t.To <= t.From:
		return ""
	case t.From < op.Call && op.Return < t.To && token != t.Token:
		return fmt.Sprintf("led with token %d from %s%s", t.Token, v.Moment(t.From), until(v, *t))
	case over && token == t.Token:
		return fmt.Sprintf("had resigned the term with that token at %s", v.Moment(t.Release.Return))
	case t.From < op.Call && token != 0 && token < t.Token:
		return fmt.Sprintf("had been elected with the greater token %d at %s", t.Token, v.Moment(t.From))
	}
	return ""
}
