package workload_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// shaky is two-phase commit in which something can be switched off.
type shaky struct {
	*recipes.TwoPhase
	conn      recipes.Conn
	rewrite   bool // votes may be written twice
	impatient bool // commits when it has voted to
	swapped   bool // tells the opposite of an abort
	deaf      bool // does not watch
}

const shakyDir = "/t/twophase/"

func (s shaky) Begin(ctx context.Context, tx string, sites []string) error {
	return s.TwoPhase.Begin(ctx, tx, nil, sites...)
}

func (s shaky) Vote(ctx context.Context, tx, site string, commit bool) error {
	err := s.TwoPhase.Vote(ctx, tx, site, commit)
	if s.rewrite && commit && errors.Is(err, recipes.ErrAborted) {
		_, err = s.conn.Set(shakyDir+tx+"/site-"+site, []byte("commit"), -1)
	}
	return err
}

func (s shaky) Outcome(ctx context.Context, tx string) (bool, error) {
	if s.impatient {
		if data, _, err := s.conn.Get(shakyDir + tx + "/site-s1"); err == nil && string(data) == "commit" {
			return true, nil
		}
	}
	if s.rewrite { // and decides by the votes alone
		return s.count(ctx, tx)
	}
	if s.deaf {
		return s.glance(ctx, tx)
	}
	return s.TwoPhase.Outcome(ctx, tx)
}

// count decides when all votes are there, by whatever they are then.
func (s shaky) count(ctx context.Context, tx string) (bool, error) {
	_, sites, err := s.Query(ctx, tx)
	for _, site := range sites {
		path := shakyDir + tx + "/site-" + site
		data, _, changed, err := s.conn.GetW(path)
		for err == nil && len(data) == 0 {
			select {
			case <-changed:
			case <-ctx.Done():
				return false, ctx.Err()
			}
			data, _, changed, err = s.conn.GetW(path)
		}
		if err != nil || string(data) == "abort" {
			return false, err
		}
	}
	return err == nil, err
}

// glance looks once, and then waits for an event that never comes.
func (s shaky) glance(ctx context.Context, tx string) (bool, error) {
	_, sites, err := s.Query(ctx, tx)
	for _, site := range sites {
		data, _, _ := s.conn.Get(shakyDir + tx + "/site-" + site)
		if len(data) == 0 {
			<-ctx.Done()
			return false, ctx.Err()
		}
	}
	if err != nil {
		return false, err
	}
	return s.TwoPhase.Outcome(ctx, tx)
}

func (s shaky) Abort(ctx context.Context, tx string) (bool, error) {
	commit, err := s.TwoPhase.Abort(ctx, tx)
	return commit != s.swapped, err
}

func twoPhase(s shaky) *workload.Workload {
	return workload.TwoPhase(func(c recipes.Conn, _ string) workload.Committer {
		own := s // several worlds turn at the same time
		own.conn, own.TwoPhase = c, recipes.NewTwoPhase(c, "/t/twophase")
		return own
	})
}

func TestShakyIsCleanAsLongAsItStands(t *testing.T) {
	wantClean(t, twoPhase(shaky{}), world.AllFaults)
}

func TestVotesWrittenTwice(t *testing.T) {
	wantBroken(t, twoPhase(shaky{rewrite: true}), world.NoFaults, "atomicity", "the outcome of t")
}

func TestCommittingOnOnesOwnVote(t *testing.T) {
	wantBroken(t, twoPhase(shaky{impatient: true}), world.NoFaults, "validity", "had not called for a vote to commit")
}

func TestAbortThatSaysCommit(t *testing.T) {
	wantBroken(t, twoPhase(shaky{swapped: true}), world.NoFaults, "atomicity", "the outcome of t")
}

func TestOutcomeThatNobodyTells(t *testing.T) {
	wantBroken(t, twoPhase(shaky{deaf: true}), world.NoFaults, "lost-wakeup", "is decided")
}
