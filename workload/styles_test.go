package workload_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Twelve correct recipes in the styles in which others write them. None may be accused, under any fault.
func TestOtherStyles(t *testing.T) {
	lock := func(new func(*line) workload.Locker, opts ...workload.Option) *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return new(newLine(c, path)) }, opts...)
	}
	styles := map[string]*workload.Workload{
		"poll":         lock(func(l *line) workload.Locker { return asking{l} }, workload.Unfair()),
		"slow backoff": lock(func(l *line) workload.Locker { return backoff{l} }, workload.Unfair()),
		"own ACL":      lock(func(l *line) workload.Locker { return &private{line: l} }),
		"cache":        lock(func(l *line) workload.Locker { return cached{l} }, workload.Waive("herd")),
		"background":   lock(func(l *line) workload.Locker { return &leisurely{line: l} }),
		"places":       lock(func(l *line) workload.Locker { return &placed{line: l} }, workload.Waive("herd")),
		"notes":        lock(func(l *line) workload.Locker { return &noting{line: l} }),
		"actor": workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			a := newRequester()
			return &acting{newLine(recipes.Around(c, a.ask), path), a}
		}, workload.Closing()),
		"compare-and-swap": workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return &swapped{conn: c, path: path}
		}, workload.Unfair()),
		"one transaction": workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return &transacted{conn: c, path: path}
		}, workload.Unfair()),
		"term": workload.Election(func(c recipes.Conn, path string) workload.Candidate {
			return &termed{line: newLine(c, path)}
		}),
		"two connections": workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
			return newTwice(t, s, path)
		}, workload.Closing()),
	}
	for name, w := range styles {
		t.Run(name, func(t *testing.T) {
			episodes := testkit.Sized(100, 10_000)
			if w.Terms().Door != world.InProcess {
				episodes = testkit.Sized(20, 10_000)
			}
			r := campaign(t, w, sim.Config{Episodes: episodes, Seed: 1})
			if r.Verdict != sim.VerdictOK {
				t.Errorf("%s (%s)", r.Verdict, r.Reason)
			}
			for _, f := range r.Violations {
				t.Log(f.Story(w))
			}
		})
	}
}

// A term may end in the moment in which its leader resigns.
func TestTermEndsAsItIsResigned(t *testing.T) {
	w := workload.Election(func(c recipes.Conn, path string) workload.Candidate {
		return &termed{line: newLine(c, path)}
	})
	r := campaign(t, w, sim.Config{Episodes: testkit.Sized(300, 1500), Seed: 1, Faults: world.Time, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictOK {
		t.Errorf("%s (%s): %v", r.Verdict, r.Reason, r.Violations)
	}
}

// line is a queue of ephemeral znodes, in the order in which they were made. The first of them holds.
type line struct {
	conn    recipes.Conn
	dir     string
	acl     []zk.ACL
	own     string // "" before a znode is made
	session int64  // that owns it
}

func newLine(c recipes.Conn, dir string) *line { return &line{conn: c, dir: dir, acl: openACL} }

// pause waits for a time, or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// insist sends a request that may be sent twice until it is answered, for half a minute at most.
func insist(request func() error) (err error) {
	for range 600 {
		if err = request(); !workload.Disconnected(err) || errors.Is(err, zk.ErrSessionExpired) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// mkdir makes a directory and those above it.
func (l *line) mkdir(dir string) error {
	err := insist(func() error { _, err := l.conn.Create(dir, nil, 0, l.acl); return err })
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		return nil
	case errors.Is(err, zk.ErrNoNode):
		if err := l.mkdir(parentOf(dir)); err != nil {
			return err
		}
		return l.mkdir(dir)
	}
	return err
}

// enter makes a znode of one's own.
func (l *line) enter() error {
	guid := recipes.NewGUID(l.conn)
	for {
		own, err := l.conn.Create(l.dir+"/"+guid+"-", nil, zk.FlagEphemeralSequential, l.acl)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			err = l.mkdir(l.dir)
		case workload.Disconnected(err):
			own, err = l.find(guid)
		}
		if err == nil && own != "" {
			return l.entered(own)
		}
		if err != nil {
			return err
		}
	}
}

// find looks for a znode that may have been made.
func (l *line) find(guid string) (own string, err error) {
	err = insist(func() error {
		if _, err := l.conn.Sync(l.dir); err != nil {
			return err
		}
		names, _, err := l.conn.Children(l.dir)
		if i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, guid) }); i >= 0 {
			own = l.dir + "/" + names[i]
		}
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return "", nil
	}
	return own, err
}

// entered notes whose the znode is.
func (l *line) entered(own string) error {
	l.own = own
	return insist(func() error {
		there, stat, err := l.conn.Exists(own)
		if err == nil && !there {
			l.own, err = "", zk.ErrSessionExpired
		}
		if err == nil {
			l.session = stat.EphemeralOwner
		}
		return err
	})
}

// leave removes the znode.
func (l *line) leave() error {
	own := l.own
	if l.own = ""; own == "" {
		return nil
	}
	err := insist(func() error { return l.conn.Delete(own, -1) })
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrSessionExpired) {
		return nil
	}
	return err
}

// ahead is the znode that was made last before one's own, of those that are there; "" if it is one's turn.
func (l *line) ahead() (ahead string, err error) {
	var names []string
	err = insist(func() (err error) { names, _, err = l.conn.Children(l.dir); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return "", zk.ErrSessionExpired
	}
	if err != nil {
		return "", err
	}
	return l.aheadOf(names)
}

func (l *line) aheadOf(names []string) (ahead string, err error) {
	if !slices.Contains(names, l.own[len(l.dir)+1:]) || l.conn.SessionID() != l.session {
		return "", zk.ErrSessionExpired
	}
	mine, err := l.made(l.own)
	if err != nil {
		return "", err
	}
	last := int64(0)
	for _, name := range names {
		at, err := l.made(l.dir + "/" + name)
		if err != nil {
			return "", err
		}
		if at > last && at < mine {
			last, ahead = at, l.dir+"/"+name
		}
	}
	if l.conn.SessionID() != l.session || mine == 0 {
		return "", zk.ErrSessionExpired
	}
	return ahead, nil
}

// made is the transaction that made a znode; 0 if it is not there.
func (l *line) made(path string) (at int64, err error) {
	err = insist(func() error {
		there, stat, err := l.conn.Exists(path)
		if err == nil && there {
			at = stat.Czxid
		}
		return err
	})
	return at, err
}

// lock enters, and waits for its turn by a function that returns when it may be worth another look.
func (l *line) lock(ctx context.Context, wait func(ctx context.Context, ahead string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := l.enter()
	for err == nil {
		var ahead string
		if ahead, err = l.ahead(); err == nil && ahead == "" {
			return nil
		}
		if err == nil {
			err = wait(ctx, ahead)
		}
	}
	return errors.Join(err, l.leave())
}

// watch waits until a znode may be gone.
func (l *line) watch(ctx context.Context, ahead string) error {
	var event <-chan zk.Event
	err := insist(func() (err error) { _, _, event, err = l.conn.GetW(ahead); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *line) Lock(ctx context.Context) error { return l.lock(ctx, l.watch) }

func (l *line) Unlock(context.Context) error { return l.leave() }

// asking looks again and again.
type asking struct{ *line }

func (a asking) Lock(ctx context.Context) error {
	n := time.Duration(0)
	return a.lock(ctx, func(ctx context.Context, _ string) error {
		n++
		return pause(ctx, (50+n*7%40)*time.Millisecond)
	})
}

// backoff looks more and more seldom, in the end every 30 s.
type backoff struct{ *line }

func (b backoff) Lock(ctx context.Context) error {
	d := time.Second / 2
	return b.lock(ctx, func(ctx context.Context, _ string) error {
		d = min(2*d, 30*time.Second)
		return pause(ctx, d)
	})
}

// private lets nobody else touch its znodes.
type private struct {
	*line
	known bool
}

func (p *private) Lock(ctx context.Context) error {
	if !p.known {
		if err := insist(func() error { return p.conn.AddAuth("digest", []byte("team:secret")) }); err != nil {
			return err
		}
		p.known, p.acl = true, zk.DigestACL(zk.PermAll, "team", "secret")
	}
	return p.line.Lock(ctx)
}

// cached looks at a list that a goroutine keeps up to date.
type cached struct{ *line }

func (c cached) Lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := c.enter()
	if err == nil {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		lists := make(chan []string)
		go c.keep(watching, lists)
		err = c.turn(ctx, lists)
	}
	if err != nil {
		err = errors.Join(err, c.leave())
	}
	return err
}

// turn waits until the list says that it is one's turn.
func (c cached) turn(ctx context.Context, lists <-chan []string) error {
	for {
		select {
		case names, more := <-lists:
			if !more {
				return zk.ErrSessionExpired
			}
			if ahead, err := c.aheadOf(names); err != nil || ahead == "" {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c cached) keep(ctx context.Context, lists chan<- []string) {
	defer close(lists)
	for ctx.Err() == nil {
		var names []string
		var event <-chan zk.Event
		err := insist(func() (err error) { names, _, event, err = c.conn.ChildrenW(c.dir); return err })
		if err != nil {
			return
		}
		select {
		case lists <- names:
		case <-ctx.Done():
			return
		}
		select {
		case <-event:
		case <-ctx.Done():
		}
	}
}

// leisurely removes its znode after it has returned.
type leisurely struct{ *line }

func (b *leisurely) Unlock(context.Context) error {
	gone := *b.line
	b.own = ""
	go gone.leave()
	return nil
}

// placed has a directory for each use, with an ephemeral znode in it as long as the user is there. It removes those of
// others that are left.
type placed struct {
	*line
	place string
}

func (p *placed) Lock(ctx context.Context) error {
	dir := p.dir
	if !strings.HasSuffix(dir, "/queue") {
		p.dir = dir + "/queue"
	}
	places := parentOf(p.dir) + "/places"
	if err := p.sweep(places); err != nil {
		return err
	}
	p.place = places + "/" + recipes.NewGUID(p.conn)
	if err := p.occupy(); err != nil {
		return errors.Join(err, p.vacate())
	}
	if err := p.line.Lock(ctx); err != nil {
		return errors.Join(err, p.vacate())
	}
	return nil
}

func (p *placed) occupy() error {
	for {
		if err := p.mkdir(p.place); err != nil {
			return err
		}
		err := insist(func() error {
			_, err := p.conn.Create(p.place+"/alive", nil, zk.FlagEphemeral, openACL)
			return err
		})
		switch {
		case err == nil || errors.Is(err, zk.ErrNodeExists):
			return nil
		case !errors.Is(err, zk.ErrNoNode):
			return err
		}
	}
}

func (p *placed) vacate() error {
	for _, path := range []string{p.place + "/alive", p.place} {
		err := insist(func() error { return p.conn.Delete(path, -1) })
		if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrSessionExpired) && !errors.Is(err, zk.ErrNotEmpty) {
			return err
		}
	}
	return nil
}

// sweep removes the places of users that are gone.
func (p *placed) sweep(places string) error {
	var names []string
	err := insist(func() (err error) { names, _, err = p.conn.Children(places); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	for _, name := range names {
		if err != nil {
			break
		}
		err = insist(func() error { return p.conn.Delete(places+"/"+name, -1) })
		if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotEmpty) {
			err = nil
		}
	}
	return err
}

func (p *placed) Unlock(ctx context.Context) error {
	return errors.Join(p.line.Unlock(ctx), p.vacate())
}

// noting leaves a note of each session, for people who look.
type noting struct {
	*line
	noted int64
}

func (p *noting) Lock(ctx context.Context) error {
	if !strings.HasSuffix(p.dir, "/queue") {
		p.dir += "/queue"
	}
	if p.noted != p.conn.SessionID() {
		clients := parentOf(p.dir) + "/clients"
		if err := p.mkdir(clients); err != nil {
			return err
		}
		name := fmt.Sprintf("%s/%x-%s", clients, p.conn.SessionID(), recipes.NewGUID(p.conn))
		if _, err := p.conn.Create(name, nil, zk.FlagEphemeral, openACL); err == nil {
			p.noted = p.conn.SessionID()
		}
	}
	return p.line.Lock(ctx)
}

// requester has one goroutine that sends all requests, one after the other.
type requester struct {
	do   chan func()
	stop sync.Once
	done chan struct{}
}

func newRequester() *requester {
	a := &requester{do: make(chan func()), done: make(chan struct{})}
	go func() {
		for {
			select {
			case f := <-a.do:
				f()
			case <-a.done:
				return
			}
		}
	}()
	return a
}

func (a *requester) ask(_, _ string, send func() error) error {
	answered := make(chan error, 1)
	select {
	case a.do <- func() { answered <- send() }:
		return <-answered
	case <-a.done:
		return zk.ErrClosing
	}
}

type acting struct {
	*line
	actor *requester
}

func (a *acting) Close() { a.actor.stop.Do(func() { close(a.actor.done) }) }

// swapped writes the name of its holder's presence, an ephemeral znode, into one that stays. Who finds no such presence
// takes over.
type swapped struct {
	conn recipes.Conn
	path string
	mine string
}

func (s *swapped) Lock(ctx context.Context) error {
	l := newLine(s.conn, s.path+"/present")
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.enter(); err != nil {
		return errors.Join(err, l.leave())
	}
	s.mine = l.own
	for {
		taken, err := s.take()
		if taken {
			return nil
		}
		if err == nil {
			err = pause(ctx, 80*time.Millisecond)
		}
		if err != nil {
			return errors.Join(err, s.Unlock(ctx))
		}
	}
}

// take takes the lock if nobody has it who is there.
func (s *swapped) take() (bool, error) {
	var data []byte
	var stat *zk.Stat
	err := insist(func() (err error) { data, stat, err = s.conn.Get(s.path); return err })
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, zk.ErrSessionExpired
	case err != nil:
		return false, err
	case string(data) == s.mine:
		return true, nil // the reply was lost
	}
	if len(data) > 0 {
		var there bool
		err := insist(func() (err error) { there, _, err = s.conn.Exists(string(data)); return err })
		if err != nil || there {
			return false, err
		}
	}
	_, err = s.conn.Multi(&zk.CheckVersionRequest{Path: s.mine, Version: 0},
		&zk.SetDataRequest{Path: s.path, Data: []byte(s.mine), Version: stat.Version})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, zk.ErrSessionExpired
	case errors.Is(err, zk.ErrBadVersion) || workload.Disconnected(err) && !errors.Is(err, zk.ErrSessionExpired):
		return false, nil
	}
	return err == nil, err
}

func (s *swapped) Unlock(context.Context) error {
	l := newLine(s.conn, s.path+"/present")
	l.own, s.mine = s.mine, ""
	return l.leave()
}

// transacted makes the lock, a znode with a fixed name, and a proof of its own in one transaction, and removes both in
// one.
type transacted struct {
	conn  recipes.Conn
	path  string
	proof string
}

func (o *transacted) Lock(ctx context.Context) error {
	l := newLine(o.conn, o.path)
	if err := l.mkdir(o.path); err != nil {
		return err
	}
	o.proof = o.path + "/" + recipes.NewGUID(o.conn)
	for {
		err := ctx.Err()
		if err == nil {
			_, err = o.conn.Multi(&zk.CreateRequest{Path: o.path + "/lock", Acl: openACL, Flags: zk.FlagEphemeral},
				&zk.CreateRequest{Path: o.proof, Acl: openACL, Flags: zk.FlagEphemeral})
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			err = l.mkdir(o.path)
		case workload.Disconnected(err):
			// It may be made; whether it is, nobody needs to know who removes it.
			err = o.Unlock(ctx)
		case errors.Is(err, zk.ErrNodeExists):
			err = l.watch(ctx, o.path+"/lock")
		}
		if err != nil {
			return err
		}
	}
}

func (o *transacted) Unlock(context.Context) error {
	err := insist(func() error {
		if _, err := o.conn.Sync(o.path); err != nil {
			return err
		}
		_, err := o.conn.Multi(&zk.DeleteRequest{Path: o.proof, Version: -1},
			&zk.DeleteRequest{Path: o.path + "/lock", Version: -1})
		return err
	})
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrSessionExpired) {
		return nil
	}
	return err
}

// termed leads for two seconds, and then steps down by itself.
type termed struct {
	*line
	mu   sync.Mutex
	lost chan struct{}
	end  func()
}

func (m *termed) Campaign(ctx context.Context) error {
	if err := m.line.Lock(ctx); err != nil {
		return err
	}
	gone, err := m.watchOwn()
	if err != nil {
		return errors.Join(err, m.leave())
	}
	lost := make(chan struct{})
	term, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	leads := *m.line
	go func() {
		defer close(ended)
		select {
		case <-gone:
			close(lost)
		case <-time.After(2 * time.Second):
			close(lost)
		case <-term.Done():
		}
		leads.leave()
	}()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost, m.end = lost, func() { end(); <-ended }
	return nil
}

// watchOwn watches one's own znode: nobody else changes it, so the first event says that it is gone.
func (l *line) watchOwn() (gone <-chan zk.Event, err error) {
	err = insist(func() (err error) { _, _, gone, err = l.conn.GetW(l.own); return err })
	if errors.Is(err, zk.ErrNoNode) || err == nil && l.conn.SessionID() != l.session {
		err = zk.ErrSessionExpired
	}
	return gone, err
}

func (m *termed) Resign(context.Context) error {
	m.end()
	return nil
}

func (m *termed) Lost() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost
}

// twice has one connection for its znodes, and one by which it looks and waits.
type twice struct {
	*line
	eyes *line
	all  []*zk.Conn
}

func newTwice(t *testing.T, s workload.Servers, path string) *twice {
	w := &twice{}
	for range 2 {
		c, _, err := zk.Connect(s.Addresses, 4*time.Second, s.Option, zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			t.Fatal(err)
		}
		w.all = append(w.all, c)
	}
	w.line, w.eyes = newLine(w.all[0], path), newLine(w.all[1], path)
	return w
}

func (w *twice) Lock(ctx context.Context) error {
	return w.line.lock(ctx, func(ctx context.Context, ahead string) error {
		if err := insist(func() error { _, err := w.eyes.conn.Sync(ahead); return err }); err != nil {
			return err
		}
		return w.eyes.watch(ctx, ahead)
	})
}

func (w *twice) Close() {
	for _, c := range w.all {
		c.Close()
	}
}
