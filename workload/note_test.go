package workload_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// present is a lock whose clients say that they live, each by an ephemeral znode for its session.
type present struct {
	conn recipes.Conn
	lock *recipes.Lock
	note string // its begin; the session follows
}

func (p *present) Lock(ctx context.Context) error {
	note := fmt.Sprintf("%s%x", p.note, p.conn.SessionID())
	if _, err := p.conn.Create(note, nil, zk.FlagEphemeral, openACL); err != nil && err != zk.ErrNodeExists {
		return err
	}
	return p.lock.Lock(ctx)
}

func (p *present) Unlock(ctx context.Context) error { return p.lock.Unlock(ctx) }
func (p *present) Lost() <-chan struct{}            { return p.lock.Lost() }

// A note that a client lives, which nobody ever removes, is no orphan, wherever it is.
func TestNotesThatClientsLive(t *testing.T) {
	for _, place := range []string{"-alive/client-", "/alive-"} {
		accusesNot(t, workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return &present{c, recipes.NewLock(c, path), path + place}
		}, workload.SetUp(func(c recipes.Conn, path string) error {
			_, first := c.Create(path, nil, 0, openACL)
			_, second := c.Create(path+"-alive", nil, 0, openACL)
			return errors.Join(first, second)
		})), world.AllFaults&^world.Reap)
	}
}
