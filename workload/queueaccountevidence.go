package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim"
)

// queueAccount is the account of the items of a queue, or a priority queue.
//
// It is kept only of rounds in which every item is one persistent znode with its value, made by a
// request of its offer's user, never written again, and in which nothing else is changed but the
// directory, made empty, and notes that go along with changes of items. Then an item is in the queue
// from the creation of its znode to its deletion: there is nothing else in which a recipe could say
// so.
type queueAccount struct {
	*Requests
	path    string
	ops     []*sim.Op
	items   []*itemAccount // in the order of the offers
	holders map[string]*itemAccount
}

// itemAccount is what is known of an item.
type itemAccount struct {
	value    string
	offer    *sim.Op
	tried    bool   // a request to make it was sent, and not refused
	path     string // "" as long as nobody has seen its znode
	czxid    int64  // 0: not known
	made     bool   // the answer to its create said so
	removals []int  // where in the log the deletes are that were not refused
	returned bool   // a poll or a take returned it
}

// settleQueue settles what it can of the operations on the queue at a path.
func settleQueue(path string, ops []*sim.Op, o *Requests) settlement {
	a := &queueAccount{Requests: o, path: path, ops: ops, holders: map[string]*itemAccount{}}
	if !a.open() || !a.locate() || !a.exclusive() || !a.remove() {
		return nil
	}
	var unknown []*sim.Op
	for _, op := range ops {
		if removes(op) && undecided(op) {
			unknown = append(unknown, op)
		}
	}
	found := ascribe(o, unknown, a.missing())
	if found != nil {
		a.settleOffers(found)
	}
	return found
}

// open lists the items.
func (a *queueAccount) open() bool {
	for _, op := range a.ops {
		if op.Name == "offer" {
			a.items = append(a.items, &itemAccount{value: op.Arg, offer: op})
		}
	}
	for _, op := range a.ops {
		if removes(op) && op.Outcome == sim.OK && op.Result != "" {
			i := slices.IndexFunc(a.items, func(it *itemAccount) bool { return it.value == op.Result })
			if i < 0 {
				return false
			}
			a.items[i].returned = true
		}
	}
	return true
}

// item returns the item whose value is in a znode's data; nil if there is none. clear is false if it
// may be another's too.
func (a *queueAccount) item(data string) (found *itemAccount, clear bool) {
	for _, it := range a.items {
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
func (a *queueAccount) locate() bool {
	began := a.beginnings()
	for i := range a.log {
		e := &a.log[i]
		create := e.kind == requestCreate && e.changes()
		if e.began != 0 || !create && e.kind != requestRead {
			continue
		}
		it, clear := a.item(e.data)
		if !clear || it != nil && !a.holds(it, e, create, i, began) {
			return false
		}
	}
	for _, p := range a.paths() {
		z := a.tree[p]
		it, clear := a.item(z.Data)
		if !clear || it != nil && !a.hold(it, p, z.Stat.Czxid) {
			return false
		}
	}
	return true
}

// holds takes in one request that says where an item is.
func (a *queueAccount) holds(it *itemAccount, e *logEntry, create bool, at int, began map[int64]cause) bool {
	if !create {
		return a.hold(it, e.path, e.czxid)
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
	return !again && a.hold(it, e.path, 0)
}

// hold notes that an item is or was in a znode; false if it is in two, or the znode holds two.
func (a *queueAccount) hold(it *itemAccount, path string, czxid int64) bool {
	other := a.holders[path]
	if other != nil && other != it || it.path != "" && it.path != path || it.czxid != 0 && czxid != 0 && it.czxid != czxid {
		return false
	}
	a.holders[path], it.path, it.czxid = it, path, max(it.czxid, czxid)
	return true
}

// exclusive tells whether nothing was changed but items, notes and the directory, and nothing else is
// there.
func (a *queueAccount) exclusive() bool {
	notes, ok := a.notes(a.changesItem)
	if !ok {
		return false
	}
	known := func(p string) bool { return a.holders[p] != nil || notes[p] || above(p, a.path) }
	for i := range a.log {
		e := &a.log[i]
		note := e.kind == requestSet && notes[e.path]
		if e.changes() && !note && !a.changesItem(e) && !blank(e, a.path, notes) {
			return false
		}
	}
	return !slices.ContainsFunc(a.paths(), func(p string) bool { return !known(p) })
}

// changesItem tells whether a request makes or deletes an item.
func (a *queueAccount) changesItem(e *logEntry) bool {
	switch e.kind {
	case requestCreate:
		it, _ := a.item(e.data)
		return it != nil
	case requestDelete:
		return a.holders[e.path] != nil
	}
	return false
}

// remove enters the deletes, and sees whether they explain what is there and what is not.
func (a *queueAccount) remove() bool {
	for i := range a.log {
		if e := &a.log[i]; e.changes() && e.kind == requestDelete {
			it := a.holders[e.path]
			it.removals = append(it.removals, i)
		}
	}
	for _, it := range a.items {
		answered := 0
		for _, i := range it.removals {
			if a.log[i].answer == done {
				answered++
			}
		}
		_, there := a.tree[it.path]
		gone := it.path != "" && !there
		unmade := it.path != "" && !it.tried || it.path == "" && it.returned
		if unmade || gone && len(it.removals) == 0 || answered > 1 || answered == 1 && !gone {
			return false
		}
	}
	return true
}

// missing are the removals of items that nobody has returned.
func (a *queueAccount) missing() (effects []effect) {
	for _, it := range a.items {
		if _, there := a.tree[it.path]; there || it.path == "" || it.returned {
			continue
		}
		x := effect{value: it.value, why: it.name() + " was gone, and only requests sent during this operation can have deleted it"}
		for _, i := range a.removers(it) {
			x.by = append(x.by, a.cause(i))
		}
		effects = append(effects, x)
	}
	return effects
}

// removers are the requests one of which has deleted an item: that whose answer said so, else all
// whose answers are not known. (A name that was gone stays gone: the item was in no other znode, and
// nothing else was made there.)
func (a *queueAccount) removers(it *itemAccount) []int {
	for _, i := range it.removals {
		if a.log[i].answer == done {
			return []int{i}
		}
	}
	return it.removals
}

func (it *itemAccount) name() string {
	if it.czxid == 0 {
		return it.path
	}
	return fmt.Sprintf("%s (czxid 0x%x)", it.path, it.czxid)
}

// settleOffers settles offers of unknown outcome. An item whose znode nobody has ever seen, answers
// to its creates and readers included, and that is not there, was never put in: nobody can have
// deleted it, since all deletes are of znodes that were seen.
func (a *queueAccount) settleOffers(found settlement) {
	for _, it := range a.items {
		switch {
		case !undecided(it.offer) || a.peeked(it):
		case it.path != "":
			found[it.offer.Number] = settled{why: "settled: it took effect: its item was in " + it.name()}
		case it.tried:
			found[it.offer.Number] = settled{none: true, why: "settled: it had no effect: nobody has seen its item's znode, and it was not there at the end"}
		default:
			found[it.offer.Number] = settled{none: true, why: "settled: it had no effect: its user sent no request to make the item"}
		}
	}
}

// peeked tells whether an item was seen by a peek although no znode of it was.
func (a *queueAccount) peeked(it *itemAccount) bool {
	return it.path == "" && slices.ContainsFunc(a.ops, func(op *sim.Op) bool {
		return op.Name == "peek" && op.Outcome == sim.OK && op.Result == it.value
	})
}
