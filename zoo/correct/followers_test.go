package correct

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/workload/cluster"
)

func init() {
	styles["a plain loop of ChildrenW"] = func() *workload.Workload {
		return workload.Own("names", planNames, workload.Closing()).Making(func(c recipes.Conn, path string) any {
			l := &lister{c: c, dir: path, over: make(chan struct{})}
			go l.follow()
			return l
		})
	}
	styles["a cache that polls"] = func() *workload.Workload {
		return cluster.Cache(func(c recipes.Conn, path string) cluster.Cacher { return &polled{c: c, path: path} })
	}
	styles["a counter by compare and set"] = func() *workload.Workload {
		return workload.Counter(func(c recipes.Conn, path string) workload.Adder { return number{c, path + "/n"} })
	}
	styles["a queue by names of one's own"] = func() *workload.Workload {
		return workload.Queue(func(c recipes.Conn, path string) workload.Queuer { return queue{c, path} })
	}
	styles["a barrier by one znode"] = func() *workload.Workload {
		return workload.Barrier(func(c recipes.Conn, path string) workload.BarrierRecipe { return gate{c, path + "/shut"} })
	}
}

// unknown is an error of a request of which it is not known whether it was carried out.
func unknown(err error) error {
	if lost(err) {
		return fmt.Errorf("%w: %w", recipes.ErrUnknownOutcome, err)
	}
	return err
}

// lister follows the names in a directory, and adds and removes some.
type lister struct {
	c    recipes.Conn
	dir  string
	over chan struct{}
}

func (l *lister) follow() {
	for {
		_, _, event, err := l.c.ChildrenW(l.dir)
		var later <-chan time.Time
		if err != nil {
			later = time.After(time.Second)
		}
		select {
		case <-event:
		case <-later:
		case <-l.over:
			return
		}
	}
}

func (l *lister) Close() { close(l.over) }

func (l *lister) add(ctx context.Context, name string) error {
	err := again(ctx, func() error { _, err := l.c.Create(l.dir+"/"+name, nil, zk.FlagPersistent, acl); return err })
	if errors.Is(err, zk.ErrNoNode) {
		if err = makePath(ctx, l.c, l.dir); err == nil {
			return l.add(ctx, name)
		}
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

func (l *lister) remove(ctx context.Context, name string) error {
	err := again(ctx, func() error { return l.c.Delete(l.dir+"/"+name, -1) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// namesEpisode is an episode of users who add and remove names of their own in a directory that all follow.
type namesEpisode struct{ workload.Script[string] }

func planNames(p *world.Plan, path string) workload.Episode {
	e := &namesEpisode{workload.NewScript[string](p, path)}
	p.Follows = []string{path}
	e.Draw(p, p.Ops, workload.OneOf("add", "remove"))
	return e
}

func (e *namesEpisode) Run(u workload.User) {
	l := e.Make(u).(*lister)
	e.AtDeath(u, func() { e.Over(u, l) })
	name := fmt.Sprintf("n%d%d", u.Client(), u.Index())
	for turn := range e.Turns(u) {
		ctx, op := u.Begin(turn, name, true)
		do := map[string]func(context.Context, string) error{"add": l.add, "remove": l.remove}[turn]
		err := do(ctx, name)
		u.End(op, workload.OutcomeOf(err), "", err)
	}
	e.Rest(u)
	e.Over(u, l)
}

func (e *namesEpisode) History(v *workload.View) linearizability.History { return v.Texts() }

func (e *namesEpisode) Judge(v *workload.View) workload.Judgement {
	j := e.Judging(v)
	j.Add(v.Stuck()...)
	j.Add(v.UnexpectedErrors(func(*world.Op) bool { return false })...)
	if len(j.Violations) == 0 {
		v.Left.Values = true
		j.Add(v.Leaks()...)
	}
	return j
}

// polled is a value that is read every second.
type polled struct {
	c    recipes.Conn
	path string
	last zk.Stat // of what was told last
}

func (p *polled) Set(ctx context.Context, value []byte) error {
	for {
		_, err := p.c.Set(p.path, value, -1)
		if errors.Is(err, zk.ErrNoNode) {
			if err = makePath(ctx, p.c, p.path[:strings.LastIndexByte(p.path, '/')]); err != nil {
				return err
			}
			_, err = p.c.Create(p.path, value, zk.FlagPersistent, acl)
		}
		if errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNoNode) {
			continue
		}
		return unknown(err)
	}
}

func (p *polled) Unset(context.Context) error {
	err := p.c.Delete(p.path, -1)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return unknown(err)
}

func (p *polled) Next(ctx context.Context) ([]byte, error) {
	for {
		p.c.Sync(p.path)
		data, stat, err := p.c.Get(p.path)
		if err == nil && stat.Mzxid > p.last.Mzxid {
			p.last = *stat
			return data, nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// number is a counter by compare and set.
type number struct {
	c    recipes.Conn
	path string
}

func (n number) read(ctx context.Context) (sum int64, version int32, err error) {
	if err := again(ctx, func() error { _, err := n.c.Sync(n.path); return err }); err != nil {
		return 0, 0, err
	}
	var data []byte
	var stat *zk.Stat
	err = again(ctx, func() (err error) { data, stat, err = n.c.Get(n.path); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return 0, -1, nil
	}
	if err != nil {
		return 0, 0, err
	}
	return int64(binary.BigEndian.Uint64(data)), stat.Version, nil
}

func (n number) Get(ctx context.Context) (int64, error) {
	sum, _, err := n.read(ctx)
	return sum, err
}

func (n number) Add(ctx context.Context, delta int64) (int64, error) {
	for {
		sum, version, err := n.read(ctx)
		if err != nil {
			return 0, err
		}
		data := binary.BigEndian.AppendUint64(nil, uint64(sum+delta))
		if version < 0 {
			_, err = n.c.Create(n.path, data, zk.FlagPersistent, acl)
		} else {
			_, err = n.c.Set(n.path, data, version)
		}
		switch {
		case errors.Is(err, zk.ErrNoNode) && version < 0:
			err = makePath(ctx, n.c, n.path[:strings.LastIndexByte(n.path, '/')])
			if err != nil {
				return 0, err
			}
		case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists):
		default:
			return sum + delta, unknown(err)
		}
	}
}

// queue is a queue whose items are in the order of their numbers.
type queue struct {
	c    recipes.Conn
	path string
}

func (q queue) Offer(ctx context.Context, data []byte) error {
	for {
		_, err := q.c.Create(q.path+"/"+recipes.NewGUID(q.c)+"-", data, zk.FlagSequence, acl)
		if errors.Is(err, zk.ErrNoNode) {
			if err = makePath(ctx, q.c, q.path); err == nil {
				continue
			}
		}
		return unknown(err)
	}
}

func (q queue) head(ctx context.Context) (path string, data []byte, event <-chan zk.Event, err error) {
	for {
		if err := again(ctx, func() error { _, err := q.c.Sync(q.path); return err }); err != nil {
			return "", nil, nil, err
		}
		var names []string
		err = again(ctx, func() (err error) { names, _, event, err = q.c.ChildrenW(q.path); return err })
		if errors.Is(err, zk.ErrNoNode) {
			if err = makePath(ctx, q.c, q.path); err == nil {
				continue
			}
		}
		if err != nil || len(names) == 0 {
			return "", nil, event, err
		}
		first := slices.MinFunc(names, func(a, b string) int {
			return strings.Compare(a[strings.LastIndexByte(a, '-'):], b[strings.LastIndexByte(b, '-'):])
		})
		err = again(ctx, func() (err error) { data, _, err = q.c.Get(q.path + "/" + first); return err })
		if !errors.Is(err, zk.ErrNoNode) {
			return q.path + "/" + first, data, event, err
		}
	}
}

func (q queue) Poll(ctx context.Context) ([]byte, error) {
	for {
		path, data, _, err := q.head(ctx)
		switch {
		case err != nil:
			return nil, err
		case path == "":
			return nil, recipes.ErrEmpty
		}
		if err := q.c.Delete(path, -1); !errors.Is(err, zk.ErrNoNode) {
			return data, unknown(err)
		}
	}
}

func (q queue) Take(ctx context.Context) ([]byte, error) {
	for {
		data, err := q.Poll(ctx)
		if !errors.Is(err, recipes.ErrEmpty) {
			return data, err
		}
		path, _, event, err := q.head(ctx)
		switch {
		case err != nil:
			return nil, err
		case path != "":
			continue
		}
		select {
		case <-event:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// gate is a barrier that is shut as long as a znode is there.
type gate struct {
	c    recipes.Conn
	path string
}

func (g gate) Shut(ctx context.Context) error {
	for {
		_, err := g.c.Create(g.path, nil, zk.FlagPersistent, acl)
		switch {
		case errors.Is(err, zk.ErrNodeExists):
			return nil
		case errors.Is(err, zk.ErrNoNode):
			if err := makePath(ctx, g.c, g.path[:strings.LastIndexByte(g.path, '/')]); err != nil {
				return err
			}
			continue
		}
		return unknown(err)
	}
}

func (g gate) Open(context.Context) error {
	err := g.c.Delete(g.path, -1)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return unknown(err)
}

func (g gate) Wait(ctx context.Context) error {
	for {
		if err := again(ctx, func() error { _, err := g.c.Sync(g.path); return err }); err != nil {
			return err
		}
		var event <-chan zk.Event
		err := again(ctx, func() (err error) { _, _, event, err = g.c.GetW(g.path); return err })
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-event:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
