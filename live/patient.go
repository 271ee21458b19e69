package live

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// patient is the run's own connection: what it asks for is asked again while the servers are away, and given up
// when its context ends, or when it has waited for so long. A request may be carried out more than once,
// which its callers have to bear.
//
// A request that was given up may still be carried out, until the connection is closed.
type patient struct {
	recipes.Conn
	ctx     context.Context
	limit   time.Duration // of a request, at least
	longest atomic.Int64  // that one has taken to be answered, as a time.Duration
}

// A busy machine is not taken for servers that are away: a request may take this many times as long as
// the longest before it, up to a bound, as that may have waited for servers that came back.
const (
	timesAnswered = 100
	answeredMax   = 2 * time.Minute
)

// errAway is why a request was given up.
var errAway = errors.New("the servers have not answered")

// askEvery is how long a request that the servers have not answered rests before it is made again.
const askEvery = 20 * time.Millisecond

// ask makes a request until it is answered.
func ask[T any](p *patient, send func() (T, error)) (answer T, err error) {
	limit := max(p.limit, min(timesAnswered*time.Duration(p.longest.Load()), answeredMax))
	ctx, cancel := context.WithTimeoutCause(p.ctx, limit, fmt.Errorf("live: %w for %v", errAway, limit))
	defer cancel()
	type reply struct {
		answer T
		err    error
	}
	for {
		begun, replies := time.Now(), make(chan reply, 1)
		go func() {
			answer, err := send()
			replies <- reply{answer, err}
		}()
		select {
		case r := <-replies:
			if !workload.Disconnected(r.err) {
				p.longest.Store(max(p.longest.Load(), int64(time.Since(begun))))
				return r.answer, r.err
			}
		case <-ctx.Done():
			return answer, context.Cause(ctx)
		}
		if !reached(ctx, time.Now().Add(askEvery)) {
			return answer, context.Cause(ctx)
		}
	}
}

// read asks for something of a znode, and for its stat.
func read[T any](p *patient, path string, send func(path string) (T, *zk.Stat, error)) (T, *zk.Stat, error) {
	type seen struct {
		what T
		stat *zk.Stat
	}
	s, err := ask(p, func() (seen, error) {
		what, stat, err := send(path)
		return seen{what, stat}, err
	})
	return s.what, s.stat, err
}

func (p *patient) Children(path string) ([]string, *zk.Stat, error) {
	return read(p, path, p.Conn.Children)
}
func (p *patient) Exists(path string) (bool, *zk.Stat, error) { return read(p, path, p.Conn.Exists) }
func (p *patient) Get(path string) ([]byte, *zk.Stat, error)  { return read(p, path, p.Conn.Get) }

func (p *patient) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	return ask(p, func() (*zk.Stat, error) { return p.Conn.Set(path, data, version) })
}

func (p *patient) Delete(path string, version int32) error {
	_, err := ask(p, func() (struct{}, error) { return struct{}{}, p.Conn.Delete(path, version) })
	return err
}

func (p *patient) Multi(ops ...any) ([]zk.MultiResponse, error) {
	return ask(p, func() ([]zk.MultiResponse, error) { return p.Conn.Multi(ops...) })
}

func (p *patient) Sync(path string) (string, error) {
	return ask(p, func() (string, error) { return p.Conn.Sync(path) })
}
