package published

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// items is a directory of a queue's items, handled so that no fault breaks it: what the fixed twins
// of the queues have in common. The name of an item is its head, a guid, a hyphen and the number.
type items struct {
	client recipes.Conn
	dir    string
	head   int    // so many bytes begin each name; those of the smallest text come first
	stale  bool   // the list may be an old one
	claims string // begins the names of claims; an item with one is not in the list
}

// guidLength is that of recipes.NewGUID.
const guidLength = 32

// entry is an item in a list.
type entry struct {
	head string
	rank int64 // the number, or after the wrap the transaction that created the item
	name string
}

// list returns the names of the items as they are at one moment during the call, in the order in
// which they come out, and a watch on them if asked for, for which it makes a missing directory.
func (d items) list(ctx context.Context, watched bool) (names []string, watch <-chan zk.Event, err error) {
	for {
		session := d.client.SessionID()
		err := retry(ctx, func() (err error) { names, watch, err = d.children(watched); return err })
		if err != nil {
			return nil, nil, err
		}
		ordered, err := d.order(ctx, names)
		if err != nil {
			return nil, nil, err
		}
		// What has gone meanwhile may have kept others from their turn, and a new session may be served
		// by a server that lags.
		complete := len(ordered) == len(d.parse(names))
		if complete && (d.stale || session != 0 && session == d.client.SessionID()) {
			return ordered, watch, nil
		}
	}
}

func (d items) children(watched bool) (names []string, watch <-chan zk.Event, err error) {
	if !d.stale {
		if _, err := d.client.Sync(d.dir); err != nil {
			return nil, nil, err
		}
	}
	if !watched {
		names, _, err = d.client.Children(d.dir)
		if errors.Is(err, zk.ErrNoNode) {
			err = nil
		}
		return names, nil, err
	}
	for {
		names, _, watch, err = d.client.ChildrenW(d.dir)
		if !errors.Is(err, zk.ErrNoNode) {
			return names, watch, err
		}
		if err := ensurePath(d.client, d.dir); err != nil {
			return nil, nil, err
		}
	}
}

func (d items) parse(names []string) (entries []entry) {
	for _, name := range names {
		number := d.head + guidLength + 1
		if len(name) <= number || d.claims != "" && slices.Contains(names, d.claims+name) {
			continue
		}
		if n, err := strconv.ParseInt(name[number:], 10, 32); err == nil {
			entries = append(entries, entry{name[:d.head], n, name})
		}
	}
	return entries
}

// order sorts items. Once the number has wrapped the transactions tell the order; what is gone when
// asked for them is left out.
func (d items) order(ctx context.Context, names []string) (ordered []string, err error) {
	entries := d.parse(names)
	if slices.ContainsFunc(entries, func(e entry) bool { return e.rank < 0 || e.rank == math.MaxInt32 }) {
		if entries, err = d.dated(ctx, entries); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.head, b.head), cmp.Compare(a.rank, b.rank))
	})
	for _, e := range entries {
		ordered = append(ordered, e.name)
	}
	return ordered, nil
}

func (d items) dated(ctx context.Context, entries []entry) (alive []entry, err error) {
	for _, e := range entries {
		var exists bool
		var stat *zk.Stat
		err := retry(ctx, func() (err error) { exists, stat, err = d.client.Exists(d.dir + "/" + e.name); return err })
		if err != nil {
			return nil, err
		}
		if exists {
			e.rank = stat.Czxid
			alive = append(alive, e)
		}
	}
	return alive, nil
}

// name returns a path for a new item, without its number.
func (d items) name(head string) string { return d.dir + "/" + head + recipes.NewGUID(d.client) + "-" }

// create creates an item, and the directory if it is missing.
func (d items) create(ctx context.Context, path string, data []byte, flags int32) error {
	for {
		_, err := d.client.Create(path, data, flags, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := retry(ctx, func() error { return ensurePath(d.client, d.dir) }); err != nil {
			return err
		}
	}
}

// created tells after a lost reply whether an item was created: nil if it is there. If it is not,
// somebody may have taken it already.
func (d items) created(ctx context.Context, path string, data []byte, lost error) error {
	names, _, err := d.list(ctx, false)
	if err == nil && slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(d.dir+"/"+name, path) }) {
		return nil
	}
	return &recipes.UnknownOutcomeError{Op: "offer", Path: path, Data: data, Err: lost}
}

// get reads an item.
func (d items) get(ctx context.Context, name string) (data []byte, err error) {
	err = retry(ctx, func() (err error) { data, _, err = d.client.Get(d.dir + "/" + name); return err })
	return data, err
}

// take reads an item and deletes it. A delete whose reply is lost is an
// [recipes.UnknownOutcomeError].
func (d items) take(ctx context.Context, op, name string) ([]byte, error) {
	data, err := d.get(ctx, name)
	if err != nil {
		return nil, err
	}
	return data, d.delete(op, name, data)
}

func (d items) delete(op, name string, data []byte) error {
	path := d.dir + "/" + name
	err := d.client.Delete(path, -1)
	if connectionLoss(err) {
		return &recipes.UnknownOutcomeError{Op: op, Path: path, Data: data, Err: err}
	}
	return err
}
