package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// waitTurn queues until obstacle names nothing that has to go first. It is told the line and where
// the own znode is in it.
func (c *contender) waitTurn(ctx context.Context, obstacle func(line []string, own int) string) error {
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
			name = obstacle(line, own)
		}
		if name == "" {
			held, err := c.first(ctx, min(own, 0))
			if held || err != nil {
				return err
			}
			continue
		}
		if err := c.awaitDeletion(ctx, name); err != nil {
			return err
		}
	}
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

// orWithdraw leaves the line if something has failed.
func (c *contender) orWithdraw(err error) error {
	if err != nil {
		err = errors.Join(err, c.withdraw())
	}
	return err
}
