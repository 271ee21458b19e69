package published

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// obstacle names what has to go first, "" if nothing has to. It is told the line and where the own znode is in it.
type obstacle func(line []string, own int) string

// rightBefore is the obstacle of a client that waits for its predecessor.
func rightBefore(line []string, own int) string {
	if own == 0 {
		return ""
	}
	return line[own-1]
}

// lastWith is the last name that contains one of some texts, "" if there is none.
func lastWith(names []string, texts ...string) string {
	for _, name := range slices.Backward(names) {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(name, text) }) {
			return name
		}
	}
	return ""
}

// waitTurn queues until nothing has to go first.
func (c *contender) waitTurn(ctx context.Context, inTheWay obstacle) error {
	return c.waitTurnBy(ctx, inTheWay, func(name string) (bool, error) { return false, c.awaitDeletion(ctx, name) })
}

// waitTurnBy is waitTurn with a way of its own to wait for an obstacle. The line is read again after that, unless
// done says that the turn has come.
func (c *contender) waitTurnBy(ctx context.Context, inTheWay obstacle,
	await func(name string) (done bool, err error)) error {
	if err := c.enlist(ctx); err != nil {
		return err
	}
	for {
		line, own, err := c.line(ctx)
		if err != nil {
			return err
		}
		name := ""
		if own >= 0 {
			name = inTheWay(line, own)
		}
		if name == "" { // whose way is free may as well be first
			_, held, err := c.first(ctx, min(own, 0))
			if held || err != nil {
				return err
			}
			continue
		}
		if done, err := await(name); done || err != nil {
			return err
		}
	}
}

// lockAround acquires a lock, does something and releases it.
func lockAround(ctx context.Context, lock *contender, do func() error) error {
	err := lock.waitTurn(ctx, rightBefore)
	if err == nil {
		err = do()
	}
	return errors.Join(err, lock.withdraw())
}

// hearOf waits for an event of a znode; gone tells that it was not there.
func (c *contender) hearOf(ctx context.Context, name string) (event zk.Event, gone bool, err error) {
	var watch <-chan zk.Event
	err = retry(ctx, func() (err error) { _, _, watch, err = c.client.GetW(c.dir + "/" + name); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return zk.Event{}, true, nil
	}
	if err == nil {
		event, err = c.hear(ctx, watch)
	}
	return event, false, err
}

// hearByExists is hearOf by a request that does not look whether the znode is there: if it is not, there may never be
// an event.
func (c *contender) hearByExists(ctx context.Context, name string) (event zk.Event, err error) {
	var watch <-chan zk.Event
	err = retry(ctx, func() (err error) { _, _, watch, err = c.client.ExistsW(c.dir + "/" + name); return err })
	if err == nil {
		event, err = c.hear(ctx, watch)
	}
	return event, err
}

// awaitDeletion waits until a znode may be gone.
func (c *contender) awaitDeletion(ctx context.Context, name string) error {
	_, _, err := c.hearOf(ctx, name)
	return err
}

// hear waits for an event. The end of the client is an error.
func (c *contender) hear(ctx context.Context, watch <-chan zk.Event) (zk.Event, error) {
	event, err := awaitAny(ctx, watch)
	if errors.Is(event.Err, zk.ErrClosing) {
		err = event.Err
	}
	return event, err
}

// orWithdraw leaves the line if something has failed.
func (c *contender) orWithdraw(err error) error {
	if err != nil {
		err = errors.Join(err, c.withdraw())
	}
	return err
}
