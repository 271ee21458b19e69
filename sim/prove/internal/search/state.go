package search

import (
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/bound"
	"github.com/zktorture/zktorture/sim/world"
)

// state is all on which depend what can happen from here on, and what the judges will say of it. Its parts are numbers of
// hashes.
type state struct {
	servers      int32
	clients      [world.ClientsMax]client
	history      history
	acted, alone uint64 // clients, as bits, see [world.View.Begun]
}

// client is what is looked at of one: what the servers have for it, and it itself.
type client struct{ line, own int32 }

// history is a hash of what judges see of what has happened: as a partial order. Each moment is hashed with those before it
// with which a judge compares it. Calls, ends of sessions and processes, and changes are in their order. A return is compared
// with all of these and with other returns; but the return of an operation that gives something back only with calls. Nor is
// that, or the call of such an operation, compared with what others do to znodes of their own, or when they give back.
type history struct {
	order, returns, givenBack uint64
	giving, own               uint64 // calls that give back; changes of clients' own znodes …
	count                     uint64 // … and how many of each client, in eight bits each: of the first eight
}

// ownMax is how many changes of own znodes are counted of a client; more are as those of others.
const ownMax = 1<<8 - 1

func (s *search) after(h history, all []world.Moment) history {
	for _, m := range all {
		hash := digest.Mix(m.Hash ^ digest.Mix(m.What))
		at, what := digest.Mix(h.order^hash), m.What
		mine := h.count >> (8 * m.Client) & ownMax
		switch {
		case s.Without.Has(bound.ReduceOwn) && what == world.KeptGiving:
			what = world.KeptCall
		case what == world.KeptOwn && (s.Without.Has(bound.ReduceOwn) || mine == ownMax):
			what = 0
		case what == world.KeptGivenBack && s.Without.Has(bound.ReduceReturns):
			what = world.KeptReturn
		}
		switch what {
		case world.KeptOwn:
			h.own = digest.Mix(h.own ^ at)
			h.count += 1 << (8 * m.Client)
		case world.KeptGiving:
			h.giving += digest.Mix(at + mine)
		case world.KeptGivenBack:
			h.givenBack += digest.Mix(at + mine)
		case world.KeptReturn:
			h.returns = digest.Mix(h.returns ^ (at + h.own + h.giving))
		case world.KeptCall:
			h.order = digest.Mix(at ^ digest.Mix(h.returns^digest.Mix(h.givenBack+h.giving)))
		default:
			h.order = at
		}
	}
	return h
}

// add adds it to a hash. What was counted is in the changes.
func (h *history) add(d *digest.Sum) {
	d.Ints(int64(h.order), int64(h.returns+h.own), int64(h.givenBack+h.giving))
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
	servers, s.lines, s.hashes = w.StateHash(s.view(w), s.lines[:0], s.hashes[:0])
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
		t.clients[i].line, _ = s.ofLines.of(s.lines[i])
		number, fresh := s.ofClients.of(uint64(d))
		if t.clients[i].own = number; fresh {
			s.standing = append(s.standing, standing{unfinished, server})
		}
	}
	t.acted, t.alone = w.Begun()
	return t
}

// keyOf is the hash of a state, and of who leaves the next deed to another.
func (s *search) keyOf(t *state) uint64 {
	var d digest.Sum
	d.Ints(int64(s.ofServers.hash[t.servers]), int64(s.later(t)))
	t.history.add(&d)
	for _, c := range t.clients[:len(s.hashes)] {
		d.Ints(int64(s.ofLines.hash[c.line]), int64(s.ofClients.hash[c.own]))
	}
	return uint64(d)
}

// come notes a state, and is false if it was seen before.
func (s *search) come(key uint64) bool {
	if !s.seen.add(key) {
		return false
	}
	s.digest += digest.Mix(key)
	return true
}

// finished reports whether all scripts have ended.
func (s *search) finished(t *state) bool {
	for i := range s.hashes {
		if s.standing[t.clients[i].own].unfinished {
			return false
		}
	}
	return true
}
