package ensemble

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/live/ensemble/netns"
)

var errNoNetwork = errors.New("ensemble: links between members can be cut only if each has a network namespace: " +
	"start the ensemble with Options.Namespaces")

// Partition cuts all links between members of different groups, both ways, until heal is called. Members in no group
// form one more, so Partition([]int{leader}) isolates the leader. Clients still reach every member.
//
// A cut link swallows packets: members find out by a timeout, after SyncLimit ticks. Faults of links add up; each is
// undone by its own heal, or by [Ensemble.Heal] with all others. It is an error without [Options.Namespaces].
func (e *Ensemble) Partition(groups ...[]int) (heal func(), err error) {
	side, err := e.sides(groups)
	if err != nil {
		return nil, err
	}
	return e.loseFrom(1, func(link netns.Link) bool { return side[link.From] != side[link.To] })
}

// Cut cuts the link from one member to another, one way, until heal is called. See [Ensemble.Partition].
func (e *Ensemble) Cut(from, to int) (heal func(), err error) { return e.Lossy(from, to, 1) }

// Lossy loses a share of the packets that one member sends to another, from 0 to 1, until heal is called. TCP
// retransmits them, later and later. See [Ensemble.Partition].
func (e *Ensemble) Lossy(from, to int, share float64) (heal func(), err error) {
	if from == to || !e.has(from) || !e.has(to) {
		return nil, fmt.Errorf("ensemble: there is no link from member %d to member %d of %d", from, to, len(e.members))
	}
	return e.loseFrom(share, func(link netns.Link) bool { return link == netns.Link{From: from, To: to} })
}

// Heal makes all links whole: it undoes [Ensemble.Partition], [Ensemble.Cut] and [Ensemble.Lossy].
func (e *Ensemble) Heal() {
	if e.network != nil {
		e.options.Log("heal all links")
		e.network.Heal()
	}
}

// sides returns the group of each member, -1 for none.
func (e *Ensemble) sides(groups [][]int) ([]int, error) {
	side := slices.Repeat([]int{-1}, len(e.members))
	for i, group := range groups {
		for _, member := range group {
			switch {
			case !e.has(member):
				return nil, e.noMember(member, "to put into a group")
			case side[member] >= 0:
				return nil, fmt.Errorf("ensemble: member %d is in two groups: "+
					"a member is on one side of a partition", member)
			}
			side[member] = i
		}
	}
	return side, nil
}

func (e *Ensemble) has(member int) bool { return member >= 0 && member < len(e.members) }

func (e *Ensemble) noMember(member int, to string) error {
	return fmt.Errorf("ensemble: there is no member %d %s: they are 0 to %d", member, to, len(e.members)-1)
}

// loseFrom loses a share of the packets on the chosen links.
func (e *Ensemble) loseFrom(share float64, chosen func(netns.Link) bool) (heal func(), err error) {
	switch {
	case e.network == nil:
		return nil, errNoNetwork
	case !(share >= 0 && share <= 1):
		return nil, fmt.Errorf("ensemble: a share of %v of the packets to lose: it must be from 0 to 1", share)
	}
	var links []netns.Link
	for from := range e.members {
		for to := range e.members {
			if link := (netns.Link{From: from, To: to}); from != to && chosen(link) {
				links = append(links, link)
			}
		}
	}
	e.options.Log("lose %.0f%% on links %v", 100*share, links)
	undo := e.network.Lose(share, links...)
	return func() {
		e.options.Log("heal links %v", links)
		undo()
	}, nil
}
