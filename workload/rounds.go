package workload

import (
	"slices"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
)

// Variants of the double barrier workload.

// roundsPlan plans an episode of a double barrier, for whose members new is.
type roundsPlan func(p *sim.Plan, path string, parties int, new maker[Rendezvous]) Episode

// FullRounds gives a double barrier as many users as a round takes, so that none is ever too many.
func FullRounds() Option {
	return planning(func(p *sim.Plan, path string, parties int, new maker[Rendezvous]) Episode {
		return planRoundsFor(p, path, parties, fullLayout(p, parties), new)
	})
}

// SparseRounds gives a double barrier any number of users, often too few for a round.
func SparseRounds() Option {
	return planning(func(p *sim.Plan, path string, parties int, new maker[Rendezvous]) Episode {
		return planRoundsFor(p, path, parties, drawUsers(p), new)
	})
}

// RoundsApart has two double barriers: the first users of all clients meet at one, the second users at the other.
func RoundsApart() Option { return planning(planApart) }

func planning(variant roundsPlan) Option { return func(t *terms) { t.rounds = variant } }

// planRounds is the workload as it is.
func planRounds(p *sim.Plan, path string, parties int, new maker[Rendezvous]) Episode {
	return planRoundsFor(p, path, parties, drawParties(p, parties), new)
}

func fullLayout(p *sim.Plan, parties int) []int {
	layout := make([]int, 1+p.Choose(min(p.Clients, parties), sim.LabelClients))
	for i := range parties {
		layout[i%len(layout)]++
	}
	return layout
}

func planApart(p *sim.Plan, path string, parties int, new maker[Rendezvous]) Episode {
	var e apartEpisode
	for i := range e {
		layout := slices.Repeat([]int{1}, parties)
		e[i] = planRoundsFor(p, path+[...]string{"", "-other"}[i], parties, layout, new)
	}
	return e
}

type apartEpisode [2]*roundsEpisode

// agree puts both on the terms of the workload.
func (e apartEpisode) agree(t terms) {
	e[0].agree(t)
	e[1].agree(t)
}

func (e apartEpisode) Users() []int {
	users := slices.Clone(e[0].layout)
	for i := range users {
		users[i] += e[1].layout[i]
	}
	return users
}

func (e apartEpisode) Parents() []string { return slices.Concat(e[0].Parents(), e[1].Parents()) }

func (e apartEpisode) Run(u User) { e[u.Index()].Run(loneUser{u}) }

// loneUser is the only one of its process at its barrier.
type loneUser struct{ User }

func (loneUser) Index() int { return 0 }

// MayWaitForever: as long as a member waits in vain at one of the barriers, nothing is done to the others.
func (e apartEpisode) MayWaitForever(all, waiting []*sim.Op) (inOrder []*sim.Op) {
	for i, rounds := range e {
		there := usersOps(waiting, i)
		fine := rounds.MayWaitForever(usersOps(all, i), there)
		if len(there) > 0 && len(fine) == 0 {
			return nil
		}
		inOrder = append(inOrder, fine...)
	}
	return inOrder
}

func usersOps(ops []*sim.Op, index int) []*sim.Op {
	return where(ops, func(op *sim.Op) bool { return op.User == index })
}

// at is what there is to see of one of the barriers.
func (e apartEpisode) at(v *View, i int) *View {
	w := *v
	w.Ops, w.Waiting, w.Left.Path = usersOps(v.Ops, i), usersOps(v.Waiting, i), e[i].Path
	return &w
}

func (e apartEpisode) History(v *View) linearizability.History {
	return slices.Concat(e[0].History(e.at(v, 0)), e[1].History(e.at(v, 1)))
}

func (e apartEpisode) Judge(v *View) (j Judgement) {
	var each [2]Judgement
	for i, rounds := range e {
		each[i] = rounds.Judge(e.at(v, i))
		j.Add(each[i].Violations...)
	}
	j.History = e.History(v)
	j.Later = func() sim.Judgement {
		var both Judgement
		for i := range each {
			each[i].Violations = nil // those are known
			each[i].Resolve()
			both.Add(each[i].Violations...)
			if both.Unknown == "" {
				both.Unknown, both.Disputed = each[i].Unknown, each[i].Disputed
			}
		}
		return both.Judgement
	}
	return j
}
