package published

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// items is a directory of a queue's items, handled so that no fault breaks it: what the fixed versions of the queues
// have in common. The name of an item is its head, a guid, a hyphen and the number.
type items struct {
	client recipes.Conn
	dir    string
	head   int    // the bytes that begin each name; those of the smallest text come first
	stale  bool   // the list may be an old one
	claims string // begins the names of claims; an item with one is not in the list
	bugs   Bugs
}

// guidLength is that of recipes.NewGUID.
const guidLength = 32

// list returns the names of the items as they are at one moment during the call, in the order in which they come out,
// and a watch on them if asked for, for which it makes a missing directory.
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
		// What has gone meanwhile may have kept others from their turn, and a new session may be served by a server
		// that lags.
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

func (d items) parse(names []string) (line []standing) {
	for _, name := range names {
		if len(name) <= d.numberAt() || d.claims != "" && slices.Contains(names, d.claims+name) {
			continue
		}
		if n, err := strconv.ParseInt(name[d.numberAt():], 10, 32); err == nil {
			line = append(line, standing{name[:d.head], n, name})
		}
	}
	return line
}

// numberAt is where the number begins in a name.
func (d items) numberAt() int { return d.head + guidLength + 1 }

// order sorts items.
func (d items) order(ctx context.Context, names []string) (ordered []string, err error) {
	line, err := inOrder(ctx, d.client, d.dir, d.parse(names))
	for _, s := range line {
		ordered = append(ordered, s.name)
	}
	return ordered, err
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
		if err := surePath(ctx, d.client, d.dir); err != nil {
			return err
		}
	}
}

// get reads an item.
func (d items) get(ctx context.Context, name string) (data []byte, err error) {
	err = retry(ctx, func() (err error) { data, _, err = d.client.Get(d.dir + "/" + name); return err })
	return data, err
}

// take reads an item and deletes it. A delete whose reply is lost is an [recipes.UnknownOutcomeError].
func (d items) take(ctx context.Context, op, name string) ([]byte, error) {
	data, err := d.get(ctx, name)
	if err != nil {
		return nil, err
	}
	return data, d.delete(op, name, data)
}

// consume takes the first item, or waits for one if it is to; else it returns recipes.ErrEmpty. take reports whether to
// go on with the next item: another consumer was faster.
func (d items) consume(ctx context.Context, wait bool,
	take func(name string) (data []byte, next bool, err error)) ([]byte, error) {
	for {
		names, watch, err := d.list(ctx, wait)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if data, next, err := take(name); !next {
				return data, err
			}
		}
		if len(names) > 0 {
			continue
		}
		if !wait {
			return nil, recipes.ErrEmpty
		}
		if err := await(ctx, watch); err != nil {
			return nil, err
		}
	}
}

func (d items) delete(op, name string, data []byte) error {
	path := d.dir + "/" + name
	err := d.client.Delete(path, -1)
	if connectionLoss(err) {
		return &recipes.UnknownOutcomeError{Op: op, Path: path, Data: data, Err: err}
	}
	return err
}
