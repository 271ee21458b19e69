package fakezk

import (
	"fmt"
	"slices"
)

// cluster is the replicas, who leads them, and the log of what was committed.
//
// Invariant: log has the transactions that some replica has not applied; a replica that does not lag has applied all.
type cluster struct {
	replicas []*replica
	leading  int // the replica that was elected last
	epoch    int64
	old      deposed

	committed int           // transactions
	log       []transaction // the last of them
	edits     []edit        // memory for those of the log
}

// reset makes n replicas, of which the first leads.
func (s *cluster) reset(n int, cfg *Config, streams *streams) {
	for len(s.replicas) < n {
		s.replicas = append(s.replicas, &replica{index: len(s.replicas), streams: streams})
	}
	s.replicas = s.replicas[:n]
	for _, r := range s.replicas {
		r.reset(cfg)
	}
	clear(s.log)
	clear(s.edits)
	s.log, s.committed, s.leading, s.epoch = s.log[:0], 0, 0, 0
	s.old.forget()
}

func (s *cluster) leader() *replica { return s.replicas[s.leading] }

// replica returns nil if there is no such replica.
func (s *cluster) replica(i int) *replica {
	if i < 0 || i >= len(s.replicas) {
		return nil
	}
	return s.replicas[i]
}

// nextZxid is that of the next transaction: the first one of an epoch has the number 1.
func (s *cluster) nextZxid() int64 { return max(s.leader().zxid, s.epoch<<32) + 1 }

// commit lets the leader apply a transaction, and all replicas that do not lag. What it is told is that of
// [replica.apply].
func (s *cluster) commit(t *transaction, results []Result, announce func(*edit, *node)) {
	s.committed++
	s.leader().apply(t, results, announce)
	behind := false
	for _, r := range s.replicas {
		switch {
		case r.lagging:
			behind = true
		case s.behind(r) > 0:
			r.apply(t, nil, nil)
		}
	}
	if behind {
		s.remember(*t)
	}
}

// remember keeps a transaction for the replicas that lag. One that is logMax behind is brought forward, as the leader
// does with a follower that does not keep up (syncLimit); a deposed leader notices it.
func (s *cluster) remember(t transaction) {
	t.edits = s.kept(t.edits)
	s.log = append(s.log, t)
	if len(s.log) <= logMax {
		return
	}
	for _, r := range s.replicas {
		switch {
		case s.behind(r) <= logMax:
		case s.old.is(r):
			s.notice()
		default:
			s.advance(r)
		}
	}
	s.trim()
}

// kept returns a copy of a transaction's edits for the log.
func (s *cluster) kept(edits []edit) []edit {
	switch {
	case len(s.log) == 0:
		s.edits = s.edits[:0]
	case len(s.edits) > logMax:
		return slices.Clone(edits)
	}
	s.edits = append(s.edits, edits...)
	return s.edits[len(s.edits)-len(edits) : len(s.edits) : len(s.edits)]
}

func (s *cluster) behind(r *replica) int { return s.committed - r.applied }

// advance makes a replica apply the transaction that it has to apply next.
func (s *cluster) advance(r *replica) { r.apply(&s.log[len(s.log)-s.behind(r)], nil, nil) }

// trim forgets the transactions that every replica has applied.
func (s *cluster) trim() {
	most := 0
	for _, r := range s.replicas {
		most = max(most, s.behind(r))
	}
	if drop := len(s.log) - most; drop > 0 {
		s.log = slices.Delete(s.log, 0, drop)
	}
}

// catchUp makes a replica apply all that is committed.
func (s *cluster) catchUp(r *replica) {
	if s.behind(r) == 0 {
		return
	}
	for s.behind(r) > 0 {
		s.advance(r)
	}
	s.trim()
}

// notice is [Ensemble.Notice].
func (s *cluster) notice() bool {
	r := s.replica(s.old.index)
	if r == nil {
		return false
	}
	r.hangUpAll()
	s.old.forget()
	r.lagging = false
	s.catchUp(r)
	return true
}

// elect makes a server the leader of all but a deposed one. All have everything that is committed: the new leader has
// it, and the others get it before they serve (Learner.syncWithLeader).
func (s *cluster) elect(leader int) {
	for _, r := range s.replicas {
		if !s.old.is(r) {
			r.hangUpAll()
			s.catchUp(r)
		}
	}
	s.leading = leader
	s.leader().lagging = false
	if len(s.replicas) > 1 { // a standalone server has no epochs
		s.epoch++
	}
}

// check returns how the log is not what some replica has still to apply: then replicas would miss transactions.
func (s *cluster) check() error {
	most := 0
	for i, r := range s.replicas {
		behind := s.behind(r)
		if behind < 0 || behind > len(s.log) || !r.lagging && behind != 0 {
			return fmt.Errorf("replica %d is %d behind, lags %t, the log has %d", i, behind, r.lagging, len(s.log))
		}
		most = max(most, behind)
	}
	if most < len(s.log) {
		return fmt.Errorf("the log has %d transactions, and nobody needs more than %d", len(s.log), most)
	}
	return nil
}
