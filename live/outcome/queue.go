package outcome

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// queueResolver accounts for the items of a queue, or a priority queue.
//
// It is used only for rounds in which every item is one persistent znode with its value, made by a request of its
// offer's user, never written again, and in which nothing else is changed but the directory, made empty, and notes
// that go along with changes of items. Then an item is in the queue from the creation of its znode to its deletion:
// there is nothing else in which a recipe could say so.
type queueResolver struct {
	*Requests
	path    string
	ops     []*world.Op
	items   []*itemState // in the order of the offers
	holders map[string]*itemState
}

// itemState is what is known of an item.
type itemState struct {
	value    string
	offer    *world.Op
	tried    bool   // a request to make it was sent, and not refused
	path     string // "" as long as its znode was not seen
	czxid    int64  // 0: not known
	made     bool   // the answer to its create said so
	removals []int  // where in the log the deletes are that were not refused
	returned bool   // a poll or a take returned it
}

// resolveQueue resolves what it can of the operations on the queue at a path.
func resolveQueue(path string, ops []*world.Op, o *Requests) map[int64]workload.Resolved {
	r := &queueResolver{Requests: o, path: path, ops: ops, holders: map[string]*itemState{}}
	if !r.open() || !r.locate() || !r.exclusive() || !r.remove() {
		return nil
	}
	found := ascribe(o, open(ops, removes), r.missing())
	if found != nil {
		r.resolveOffers(found)
	}
	return found
}

// open lists the items.
func (r *queueResolver) open() bool {
	for _, op := range r.ops {
		if op.Name == "offer" {
			r.items = append(r.items, &itemState{value: op.Arg, offer: op})
		}
	}
	for _, op := range r.ops {
		if removes(op) && op.Outcome == world.OK && op.Result != "" {
			i := slices.IndexFunc(r.items, func(it *itemState) bool { return it.value == op.Result })
			if i < 0 {
				return false
			}
			r.items[i].returned = true
		}
	}
	return true
}

// item returns the item whose value is in a znode's data; nil if there is none. clear is false if it
// may be another's too.
func (r *queueResolver) item(data string) (found *itemState, clear bool) {
	for _, it := range r.items {
		switch {
		case it.value == data:
			return it, true
		case !strings.Contains(data, it.value):
		case found != nil:
			return nil, false
		default:
			found = it
		}
	}
	return found, true
}

// locate finds the znode of each item: by answers to creates, by what was read, and in the tree.
func (r *queueResolver) locate() bool {
	began := r.beginnings()
	for i, e := range r.requests() {
		create := e.kind == requestCreate && e.changes()
		if !create && e.kind != requestRead {
			continue
		}
		it, clear := r.item(e.data)
		if !clear || it != nil && !r.holds(it, e, create, i, began) {
			return false
		}
	}
	for _, p := range r.paths() {
		z := r.tree[p]
		it, clear := r.item(z.Data)
		if !clear || it != nil && !r.hold(it, p, z.Stat.Czxid) {
			return false
		}
	}
	return true
}

// holds takes in one request that says where an item is.
func (r *queueResolver) holds(it *itemState, e *logEntry, create bool, at int, began map[int64]cause) bool {
	if !create {
		return r.hold(it, e.path, e.czxid)
	}
	offer, known := began[it.offer.Number]
	if !known || offer.handle != e.handle || offer.at > at || !e.plain() {
		return false
	}
	it.tried = true
	if e.answer != done {
		return true
	}
	again := it.made
	it.made = true
	return !again && r.hold(it, e.path, 0)
}

// hold notes that an item is or was in a znode; false if it is in two, or the znode holds two.
func (r *queueResolver) hold(it *itemState, path string, czxid int64) bool {
	other := r.holders[path]
	if other != nil && other != it || it.path != "" && it.path != path ||
		it.czxid != 0 && czxid != 0 && it.czxid != czxid {
		return false
	}
	r.holders[path], it.path, it.czxid = it, path, max(it.czxid, czxid)
	return true
}

// exclusive reports whether nothing was changed but items, notes and the directory, and nothing else is there.
func (r *queueResolver) exclusive() bool {
	notes, ok := r.notes(r.changesItem)
	if !ok {
		return false
	}
	known := func(p string) bool { return r.holders[p] != nil || notes[p] || above(p, r.path) }
	for _, e := range r.requests() {
		note := e.kind == requestSet && notes[e.path]
		if e.changes() && !note && !r.changesItem(e) && !blank(e, r.path, notes) {
			return false
		}
	}
	return !slices.ContainsFunc(r.paths(), func(p string) bool { return !known(p) })
}

// changesItem reports whether a request makes or deletes an item.
func (r *queueResolver) changesItem(e *logEntry) bool {
	switch e.kind {
	case requestCreate:
		it, _ := r.item(e.data)
		return it != nil
	case requestDelete:
		return r.holders[e.path] != nil
	}
	return false
}

// remove enters the deletes, and sees whether they explain what is there and what is not.
func (r *queueResolver) remove() bool {
	for i, e := range r.requests() {
		if e.changes() && e.kind == requestDelete {
			it := r.holders[e.path]
			it.removals = append(it.removals, i)
		}
	}
	for _, it := range r.items {
		answered := 0
		for _, i := range it.removals {
			if r.log[i].answer == done {
				answered++
			}
		}
		_, there := r.tree[it.path]
		gone := it.path != "" && !there
		unmade := it.path != "" && !it.tried || it.path == "" && it.returned
		if unmade || gone && len(it.removals) == 0 || answered > 1 || answered == 1 && !gone {
			return false
		}
	}
	return true
}

// missing are the removals of items that no operation has returned.
func (r *queueResolver) missing() (effects []effect) {
	for _, it := range r.items {
		if _, there := r.tree[it.path]; there || it.path == "" || it.returned {
			continue
		}
		x := effect{value: it.value}
		x.why = it.name() + " was gone, and only requests sent during this operation can have deleted it"
		for _, i := range r.removers(it) {
			x.by = append(x.by, r.cause(i))
		}
		effects = append(effects, x)
	}
	return effects
}

// removers are the requests one of which has deleted an item: that whose answer said so, else all whose answers are
// not known. (A name that was gone stays gone: the item was in no other znode, and nothing else was made there.)
func (r *queueResolver) removers(it *itemState) []int {
	for _, i := range it.removals {
		if r.log[i].answer == done {
			return []int{i}
		}
	}
	return it.removals
}

func (it *itemState) name() string {
	if it.czxid == 0 {
		return it.path
	}
	return fmt.Sprintf("%s (czxid 0x%x)", it.path, it.czxid)
}

// resolveOffers resolves offers of unknown outcome. An item whose znode was never seen, by answers to
// its creates or by readers, and that is not there, was never put in: no request can have deleted it, since all deletes
// are of znodes that were seen.
func (r *queueResolver) resolveOffers(found map[int64]workload.Resolved) {
	for _, it := range r.items {
		if !undecided(it.offer) || r.peeked(it) {
			continue
		}
		known := workload.Resolved{None: it.path == ""}
		switch {
		case !known.None:
			known.Why = "resolved: it took effect: its item was in " + it.name()
		case it.tried:
			known.Why = "resolved: it had no effect: nobody has seen its item's znode, and it was not there at the end"
		default:
			known.Why = "resolved: it had no effect: its user sent no request to make the item"
		}
		found[it.offer.Number] = known
	}
}

// peeked reports whether an item was seen by a peek although no znode of it was.
func (r *queueResolver) peeked(it *itemState) bool {
	return it.path == "" && slices.ContainsFunc(r.ops, func(op *world.Op) bool {
		return op.Name == "peek" && op.Outcome == world.OK && op.Result == it.value
	})
}

// itemsMissing reports whether an item was not returned, or an operation is of unknown outcome. A take that was ended,
// as all that wait at an empty queue are, matters only if something is missing.
func itemsMissing(ops []*world.Op) bool {
	return slices.ContainsFunc(ops, func(op *world.Op) bool {
		missing := op.Name == "offer" && op.Outcome == world.OK && !slices.ContainsFunc(ops, func(o *world.Op) bool {
			return o.Result == op.Arg && o.Outcome == world.OK && o.Name != "peek"
		})
		return missing || undecided(op) && !op.Cancelled
	})
}

func removes(op *world.Op) bool {
	return operations.Of(op.Name).Role == operations.Removal
}
