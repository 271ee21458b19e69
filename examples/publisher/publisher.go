// Package publisher publishes a configuration. The leader publishes it, with the token of its leadership as the
// version, and may do so again. Readers must never see an older version after a newer one. The package is an example
// of a user's own recipe, and publisher_test.go of its test.
package publisher

import (
	"context"
	"errors"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// Publisher publishes while it leads. It is for one goroutine.
type Publisher struct {
	conn      recipes.Conn
	path      string
	candidate *recipes.Candidate
	leads     bool
	careless  bool
}

// New returns a publisher below the znode at path, which exists, as does its child config. Beside config are the
// candidates.
func New(c recipes.Conn, path string) *Publisher {
	return &Publisher{conn: c, path: path + "/config", candidate: recipes.NewCandidate(c, path)}
}

// NewCareless returns a publisher that assumes that it leads until it is closed. If its session expires and another
// leader publishes, it overwrites the newer version with its older one.
func NewCareless(c recipes.Conn, path string) *Publisher {
	p := New(c, path)
	p.careless = true
	return p
}

// Publish waits until it leads, publishes and returns the version. If it fails it may have published. With
// [recipes.ErrLost] it has not, as a later leader has published.
func (p *Publisher) Publish(ctx context.Context) (version int64, err error) {
	if !p.leads {
		if err := p.candidate.Campaign(ctx); err != nil {
			return 0, err
		}
		p.leads = true
	}
	version = p.candidate.Token()
	if err := p.replace(version); err != nil {
		if !p.careless {
			p.Close(context.WithoutCancel(ctx))
		}
		return 0, err
	}
	return version, nil
}

// replace replaces the published version unless that is newer.
func (p *Publisher) replace(version int64) error {
	expected := int32(-1)
	if !p.careless {
		published, stat, err := p.read()
		if err != nil {
			return err
		}
		if published > version {
			return recipes.ErrLost
		}
		expected = stat.Version
	}
	_, err := p.conn.Set(p.path, strconv.AppendInt(nil, version, 10), expected)
	if errors.Is(err, zk.ErrBadVersion) {
		return recipes.ErrLost
	}
	return err
}

// Close ends the leadership, if it leads.
func (p *Publisher) Close(ctx context.Context) error {
	if !p.leads {
		return nil
	}
	p.leads = false
	return p.candidate.Resign(ctx)
}

// Read returns the published version; 0 if there is none.
func (p *Publisher) Read() (version int64, err error) {
	if _, err := p.conn.Sync(p.path); err != nil {
		return 0, err
	}
	version, _, err = p.read()
	return version, err
}

func (p *Publisher) read() (version int64, stat *zk.Stat, err error) {
	data, stat, err := p.conn.Get(p.path)
	if err == nil && len(data) > 0 {
		version, err = strconv.ParseInt(string(data), 10, 64)
	}
	return version, stat, err
}
