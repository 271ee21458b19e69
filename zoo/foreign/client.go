package foreign

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	samuel "github.com/samuel/go-zookeeper/zk"
)

// Client is a session of one of the two client libraries, with its defaults but for the log.
type Client struct {
	Session func() int64
	Make    func(path string) any // a recipe for one user
	Close   func()
}

// connectMax is how long the first session may take.
const connectMax = 20 * time.Second

// Connect opens a session for a recipe. It tells of each change of the session's state, from any goroutine, until the
// client is closed. The error says that there is no session.
func (r Recipe) Connect(
	ctx context.Context, servers []string, timeout time.Duration, tell func(zk.State),
) (*Client, error) {
	ready := make(chan struct{})
	begun := sync.OnceFunc(func() { close(ready) })
	client, err := r.connect(servers, timeout, func(state zk.State) {
		tell(state)
		if state == zk.StateHasSession {
			begun()
		}
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectMax)
	defer cancel()
	select {
	case <-ready:
		return client, nil
	case <-ctx.Done():
		client.Close()
		return nil, fmt.Errorf("foreign: no session with %v: %w", servers, ctx.Err())
	}
}

func (r Recipe) connect(servers []string, timeout time.Duration, tell func(zk.State)) (*Client, error) {
	if r.New == nil {
		return r.connectSamuel(servers, timeout, tell)
	}
	c, events, err := zk.Connect(servers, timeout, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	go func() {
		for e := range events {
			if e.Type == zk.EventSession {
				tell(e.State)
			}
		}
	}()
	return &Client{c.SessionID, func(path string) any { return r.New(c, path) }, c.Close}, nil
}

func (r Recipe) connectSamuel(servers []string, timeout time.Duration, tell func(zk.State)) (*Client, error) {
	c, events, err := samuel.Connect(servers, timeout, samuel.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	go func() {
		for e := range events {
			if e.Type == samuel.EventSession {
				tell(zk.State(e.State))
			}
		}
	}()
	return &Client{c.SessionID, func(path string) any { return r.Samuel(c, path) }, c.Close}, nil
}
