package search

import (
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/world"
)

// state is all on which depend what can happen from here on, and what the judges will say of it. Its parts are numbers of
// hashes.
type state struct {
	servers      int32
	clients      [world.ClientsMax]int32
	history      history
	acted, alone uint64 // clients, as bits, see [world.View.Begun]
}

// history is a hash of what judges see of what has happened, in its order.
type history uint64

func (h *history) add(all []world.Moment) {
	for _, m := range all {
		*h = history(digest.Mix(uint64(*h) ^ digest.Mix(m.Hash^digest.Mix(m.What))))
	}
}

// parts are hashes, and their numbers.
type parts struct {
	number map[uint64]int32
	hash   []uint64
}

func (p *parts) of(hash uint64) (number int32, fresh bool) {
	number, known := p.number[hash]
	if !known {
		number = int32(len(p.hash))
		p.number[hash] = number
		p.hash = append(p.hash, hash)
	}
	return number, !known
}

// standing is what else is looked at of a client.
type standing struct {
	unfinished bool
	server     int
}

// observe returns the state of the world, but for its history.
func (s *search) observe(w *world.View) (t state) {
	var servers uint64
	servers, s.hashes = w.StateHash(s.view(w), s.hashes[:0])
	var d digest.Sum
	d.Ints(int64(servers), int64(s.plan), int64(s.left), int64(s.awaitingQuorum), int64(s.been))
	if w.Outage() {
		w.Collect()
		d.Int(int64(w.AwaitingQuorum()))
	}
	t.servers, _ = s.ofServers.of(uint64(d))
	for i, hash := range s.hashes {
		unfinished, server := w.Standing(i)
		var d digest.Sum
		d.Ints(int64(i), int64(hash), int64(server))
		d.Bool(unfinished)
		number, fresh := s.ofClients.of(uint64(d))
		if t.clients[i] = number; fresh {
			s.standing = append(s.standing, standing{unfinished, server})
		}
	}
	t.acted, t.alone = w.Begun()
	return t
}

// keyOf is the hash of a state, and of who leaves the next deed to another.
func (s *search) keyOf(t *state) uint64 {
	var d digest.Sum
	d.Ints(int64(s.ofServers.hash[t.servers]), int64(s.later(t)), int64(t.history))
	for i := range s.hashes {
		d.Int(int64(s.ofClients.hash[t.clients[i]]))
	}
	return uint64(d)
}

// come notes a state, and is false if it was seen before.
func (s *search) come(key uint64) bool {
	if _, known := s.seen[key]; known {
		return false
	}
	s.seen[key] = struct{}{}
	s.digest += digest.Mix(key)
	return true
}

// finished reports whether all scripts have ended.
func (s *search) finished(t *state) bool {
	for i := range s.hashes {
		if s.standing[t.clients[i]].unfinished {
			return false
		}
	}
	return true
}
