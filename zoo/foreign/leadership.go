package foreign

import (
	"context"
	"strings"

	"github.com/docker/leadership"
	"github.com/docker/libkv/store"
	"github.com/docker/libkv/store/zookeeper"
	"github.com/samuel/go-zookeeper/zk"
)

// candidate is docker/leadership over docker/libkv's store for ZooKeeper: a leadership.Candidate for each campaign.
type candidate struct {
	store store.Store
	path  string
	run   *leadership.Candidate
	over  chan struct{} // closed when run's channels are
}

func newCandidate(c *zk.Conn, path string) any { return candidateOver(libkvStore(c), path) }

func dialCandidate(servers []string, path string) any {
	return candidateOver(made(zookeeper.New(servers, nil)), path)
}

func candidateOver(s store.Store, path string) any {
	return &candidate{store: s, path: strings.TrimPrefix(path, "/")} // libkv puts the slash there itself
}

// libkvStore is what zookeeper.New makes.
func libkvStore(c *zk.Conn) *zookeeper.Zookeeper {
	s := &zookeeper.Zookeeper{}
	connected(s, "client", c)
	return s
}

// Campaign waits for the news that run leads.
func (c *candidate) Campaign(ctx context.Context) error {
	c.run, c.over = leadership.NewCandidate(c.store, c.path, "node", 0), make(chan struct{})
	elected, failed := c.run.RunForElection()
	for {
		select {
		case leads := <-elected:
			if leads {
				go follow(elected, failed, c.over)
				return nil
			}
		case err := <-failed:
			go follow(elected, failed, c.over)
			return translated(err)
		case <-ctx.Done():
			c.run.Stop()
			go follow(elected, failed, c.over)
			return ctx.Err()
		}
	}
}

// follow reads what a candidate tells, which waits until it is read, to the end.
func follow(elected <-chan bool, failed <-chan error, over chan<- struct{}) {
	defer close(over)
	for elected != nil || failed != nil {
		select {
		case _, open := <-elected:
			if !open {
				elected = nil
			}
		case _, open := <-failed:
			if !open {
				failed = nil
			}
		}
	}
}

// Resign ends the campaign. What stands in its way is told to nobody.
func (c *candidate) Resign(context.Context) error {
	c.run.Stop()
	<-c.over
	return nil
}

// IsOwner reports whether the candidate leads.
func (c *candidate) IsOwner() bool { return c.run.IsLeader() }
