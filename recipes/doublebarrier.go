package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/call"
)

// memberPrefix begins the names of the znodes of a double barrier's members.
const memberPrefix = "member-"

var (
	// ErrPlaceLost is returned by [DoubleBarrier.Leave] when the member's znode was gone before it left: its session
	// expired, or the znode was deleted. To the others it had died, so they may have left without it, and a new round
	// may have begun.
	ErrPlaceLost = errors.New("recipes: the place in the barrier was lost before it was left")

	// ErrEntered is returned by Enter of a value that is inside or about to enter.
	ErrEntered = errors.New("recipes: this value has entered or is entering its barrier already")

	// ErrNotEntered is returned by Leave of a value that is not inside.
	ErrNotEntered = errors.New("recipes: this value has not entered its barrier")
)

// DoubleBarrier lets a fixed number of parties begin a computation together and end it together, round after round.
// After ZooKeeper's recipe "Double Barriers" (ZooKeeper Recipes and Solutions), with the changes below.
//
// # Znodes
//
// A member is an ephemeral sequential znode dir/member-<guid>-<sequence>, with a fresh guid for each round. Members
// stand in line in the order of their creation. The data of dir itself are the names of the members of the last
// round, one a line. A round lasts as long as one of its members exists. When none does and there are enough in line,
// one of them begins the next round with the first of the line, by a multi: it checks that each of these still exists
// and sets dir's data, if that is still the version that was read. So a round begins at one moment, at which all its
// members are there, and never while another lasts.
//
// The data of dir belong to the barrier.
//
// # Promises
//
// Enter returns nil only after a moment during the call at which all parties of a round were there: each had called
// Enter and had not called Leave. Leave returns nil only after a moment during the call at which none was inside: all
// members of the round had called Leave or died. Rounds follow each other and never overlap; a member that comes too
// late for one waits for the next, and rounds are filled in the order in which the members came. Progress: a round
// begins when parties are there and the round before is over; it is over when all its members have left or their
// sessions have ended. Nothing is left behind: a member that gives up, or fails, removes its znode, however long that
// takes, and until then it counts.
//
// What no barrier can promise is to tell the dead from the slow: a process that dies counts as there until its
// session ends, and, if it starts again before, its new self stands in line beside the old one. A member whose
// session has ended without its knowledge is dead to the others, which may leave and begin another round while it
// still computes; its Leave says so ([ErrPlaceLost]).
//
// # Cost
//
// Enter takes seven requests: create, read dir with a watch, list; a watch on the one before in line or, for the member
// that completes the round, a multi with one check for each party; then read, list, and a read of the own znode for its
// owner. The beginning of a round wakes all that wait, also those that are not in it, which read and list again. Of
// those that wait for the next round the first is woken for each member that leaves, the others are not. Leave takes
// six: a transaction, list, delete, watch, and again a transaction and list when the last has left. All members but the
// oldest wait for the oldest, which waits for the others, with three requests for each that keeps it waiting; so the
// end of a round wakes each of them once. A waiter keeps two watches.
//
// # Errors
//
// Enter returns the context's error when that ended: the member is out, or will be as soon as ZooKeeper can be reached;
// the next Enter waits for that. If a round began with it in the same moment, that round runs without it. Leave returns
// the context's error when that ended: the member leaves in the background, and does not know whether the others have.
// [ErrEntered] and [ErrNotEntered] are mistakes of the program. Never go on to compute after an error of Enter.
//
// # Wrong versions that tempt
//
//   - Counting the children: a fast member enters, leaves and is gone before a slow one counts, which then waits for
//     ever. The beginning of a round must be written down.
//   - Writing it down as a znode "ready" that is removed at the end of the round: whoever should remove it may die
//     first, and the next round begins with a single member.
//   - Names by host or process instead of guids: a member of the next round is taken for one of the last, and each
//     waits for the other.
//   - Giving up without removing the znode, or coming back before it is removed: one party then counts as two.
//   - Leaving when the children are gone without knowing which belong to the round: late comers keep the others inside.
//
// A DoubleBarrier is one member. It belongs to one user at a time, although its methods may be called from any
// goroutine. Several may share a connection.
type DoubleBarrier struct {
	retryConn
	dir     string
	parties int

	mu      sync.Mutex  // never held across a call to ZooKeeper
	current *attendance // the last one begun
}

// NewDoubleBarrier returns a member of the barrier in the directory dir. All members must agree on the number of
// parties, which is at least 1.
func NewDoubleBarrier(conn Conn, dir string, parties int, opts ...Option) *DoubleBarrier {
	return &DoubleBarrier{retryConn: newRetryConn(conn, opts...), dir: dir, parties: parties}
}

// Enter waits until a round begins in which this member takes part. It returns nil if so, else see [DoubleBarrier]
// for the errors; a context that ends in the same moment as the round begins may give either result.
func (b *DoubleBarrier) Enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := b.begin()
	if err != nil {
		return err
	}
	err = launch(ctx, func(*operation) error { return m.enter(ctx) })
	return explain(m.settle(err), "barrier %s: cannot enter", b.dir)
}

// Leave waits until all members of the round have left or died. It returns nil if so, else see [DoubleBarrier] for
// the errors. After any error but ErrNotEntered the member is out, or will be as soon as ZooKeeper can be reached.
func (b *DoubleBarrier) Leave(ctx context.Context) error {
	m := b.inside()
	if m == nil {
		return ErrNotEntered
	}
	err := launch(ctx, func(*operation) error { return m.leave(ctx) })
	return explain(err, "barrier %s: cannot leave", b.dir)
}

// Settle waits for what goes on in the background: the removal of the znode of an Enter or a Leave that has failed or
// whose context has ended. It returns nil when that is over, so at once if this member is inside, or its own context's
// error.
func (b *DoubleBarrier) Settle(ctx context.Context) error {
	b.mu.Lock()
	last := b.current
	settled := last == nil || last.phase != out
	b.mu.Unlock()
	if settled {
		return nil
	}
	select {
	case <-last.ended:
	case <-ctx.Done():
		if !call.IsClosed(last.ended) {
			return fmt.Errorf("recipes: barrier %s is left in the background: %w", b.dir, ctx.Err())
		}
	}
	return nil
}

func (b *DoubleBarrier) begin() (*attendance, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.current
	switch {
	case b.parties < 1:
		return nil, fmt.Errorf("recipes: barrier %s is for %d parties; it takes at least 1", b.dir, b.parties)
	case last != nil && (last.phase == entering || last.phase == inside):
		return nil, ErrEntered
	}
	b.current = &attendance{barrier: b, ended: make(chan struct{})}
	b.current.place = newWaitQueue(&b.retryConn, b.dir, rule{prefix: memberPrefix}, nil)
	if last != nil {
		b.current.before = last.ended
	}
	return b.current, nil
}

// inside returns the attendance that is now to be left, nil if there is none.
func (b *DoubleBarrier) inside() *attendance {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current == nil || b.current.phase != inside {
		return nil
	}
	b.current.phase = out
	return b.current
}

// stage is where an attendance stands. It only moves forward.
type stage int

const (
	entering stage = iota
	inside         // Enter has succeeded
	out            // Leave was called, or Enter failed
)

// attendance is one member's part in one round, from Enter to Leave.
//
// Invariant: of the attendances of one DoubleBarrier at most one has a znode. Each begins by waiting for the end of
// the one before.
type attendance struct {
	barrier *DoubleBarrier
	before  <-chan struct{}
	ended   chan struct{} // closed when there is no znode any more, nor will be

	phase stage // guarded by barrier.mu

	// Used by one goroutine at a time: Enter's, then Leave's.
	place *waitQueue // the own znode; for whom the member waits the round tells
	round []string   // the names of the round's members, the oldest first
	gone  bool       // the znode is
}

// enter is the goroutine of Enter. It ends early, by runtime.Goexit in a call, when a simulator ends the client's
// process.
func (m *attendance) enter(ctx context.Context) error {
	entered := false
	defer func() {
		if !entered {
			close(m.ended)
		}
	}()
	if err := m.await(ctx); err != nil {
		return err
	}
	err := m.join(ctx)
	if entered = err == nil && m.begun(); !entered {
		m.withdraw(err)
	}
	return err
}

// await waits for the end of the attendance before this one.
func (m *attendance) await(ctx context.Context) error {
	if m.before != nil {
		select {
		case <-m.before:
		case <-ctx.Done():
			<-m.before // ended must not be closed before
		}
	}
	m.before = nil // let the chain of attendances be collected
	return ctx.Err()
}

// begun notes that the member is inside, unless its caller has gone away.
func (m *attendance) begun() bool {
	m.barrier.mu.Lock()
	defer m.barrier.mu.Unlock()
	if m.phase == entering {
		m.phase = inside
	}
	return m.phase == inside
}

// settle is called with Enter's result. A caller that gave up in the moment of success is inside.
func (m *attendance) settle(err error) error {
	m.barrier.mu.Lock()
	defer m.barrier.mu.Unlock()
	if m.phase == inside {
		return nil
	}
	m.phase = out
	return err
}

// join stands in line until a round has begun. When the znode gets lost on the way the member begins again at the end
// of the line, under a new guid: to the others it is a new member.
func (m *attendance) join(ctx context.Context) error {
	for {
		if err := m.place.enlist(ctx); err != nil {
			return err
		}
		if err := m.queue(ctx); err != errDisplaced {
			return err
		}
	}
}

// queue waits in line. A member that finds the last round over and parties in line begins the next.
//
// One always does. A round that is over stays over, so either a later member finds it over, or the first in line
// does, which watches the last member that is left of the round; its list then contains every member that had found
// the round not yet over.
//
// That what is read may be old does no harm. A list contains the own znode, so it contains every member that was
// created before and exists. Of a round that has begun meanwhile the watch on dir tells, and a multi based on the old
// one is refused. Only where sequence numbers have wrapped, so that each member of a list is asked for its date, the
// end of the round may be newer than the list: then it takes another list to know who is in line.
func (m *attendance) queue(ctx context.Context) error {
	var last, before lookout
	relisted := int32(-1) // the version of the round of which a list was taken after its end
	for {
		line, i, err := m.line(ctx, &last)
		if err != nil {
			return err
		}
		round := strings.Fields(string(last.data))
		over := !anyOf(round, line)
		switch {
		case slices.Contains(round, line[i].name):
			m.round = round
			return m.verify(ctx)
		case over && len(line) >= m.barrier.parties:
			last.event = nil // it will change, or has
			err = m.barrier.beginRound(ctx, line, last.stat.Version)
		case over && line[i].czxid != 0 && last.stat.Version != relisted:
			relisted = last.stat.Version
		default:
			err = m.wait(ctx, &last, &before, line[:i])
		}
		if err != nil {
			return err
		}
	}
}

// line reads the last round and then the members in line; i is the own place.
func (m *attendance) line(ctx context.Context, last *lookout) (line []member, i int, err error) {
	if *last, err = m.barrier.look(ctx, *last, m.barrier.dir); err != nil {
		return nil, 0, err
	}
	if line, err = m.place.list(ctx); err != nil {
		return nil, 0, err
	}
	if i = m.place.find(line); i < 0 || last.missing() {
		return nil, 0, errDisplaced
	}
	return line, i, m.place.prune(ctx, line[i+1:])
}

// anyOf reports whether one of the round's members is in line.
func anyOf(round []string, line []member) bool {
	return slices.ContainsFunc(line, func(x member) bool { return slices.Contains(round, x.name) })
}

// beginRound lets the first in line be the next round, unless one of them has gone or another round has begun.
func (b *DoubleBarrier) beginRound(ctx context.Context, line []member, version int32) error {
	var ops []any
	var names []string
	for _, x := range line[:b.parties] {
		ops = append(ops, &zk.CheckVersionRequest{Path: join(b.dir, x.name), Version: -1})
		names = append(names, x.name)
	}
	ops = append(ops, &zk.SetDataRequest{Path: b.dir, Data: []byte(strings.Join(names, "\n")), Version: version})
	_, err := b.persist(ctx, func() error { _, err := b.conn.Multi(ops...); return err })
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
		return nil
	}
	return err
}

// wait returns when a round begins or when the one before in line goes.
func (m *attendance) wait(ctx context.Context, last, before *lookout, ahead []member) (err error) {
	b := m.barrier
	if len(ahead) == 0 {
		return awaitAny(ctx, last)
	}
	*before, err = b.look(ctx, *before, join(b.dir, ahead[len(ahead)-1].name))
	if err != nil || before.missing() {
		return err
	}
	return awaitAny(ctx, last, before)
}

// verify makes sure that the znode is owned by the session of this moment.
func (m *attendance) verify(ctx context.Context) error {
	own, err := m.place.verify(ctx)
	if err == nil {
		m.place.session = own.session
	}
	return err
}

// withdraw removes the znode, if there is or may be one. It gives up only when the connection is closed, which ends
// the session, or when ZooKeeper refuses.
func (m *attendance) withdraw(reason error) {
	if reason != ErrClosed && m.place.guid != "" {
		m.place.withdraw(context.Background())
	}
}

// leave is the goroutine of Leave.
func (m *attendance) leave(ctx context.Context) error {
	defer close(m.ended)
	err := m.part(ctx)
	if !m.gone {
		m.withdraw(err)
	}
	return err
}

// part removes the own znode and waits until there is none left of the round.
//
// Once the own znode has been seen during this call it does not matter how it goes: all members that leave do so
// after the call.
func (m *attendance) part(ctx context.Context) error {
	var before lookout
	for first := true; ; first = false {
		left, err := m.left(ctx)
		if err != nil {
			return err
		}
		m.gone = m.gone || !slices.Contains(left, m.place.path) || m.barrier.conn.SessionID() != m.place.session
		switch {
		case m.gone && first:
			return ErrPlaceLost
		case !m.gone && (len(left) == 1 || left[0] != m.place.path):
			if left, err = m.remove(ctx, left); err != nil {
				return err
			}
		}
		if len(left) == 0 {
			return nil
		}
		if err := m.waitForOldest(ctx, left, &before); err != nil {
			return err
		}
	}
}

// left returns the paths of the round's members that exist, the oldest first.
func (m *attendance) left(ctx context.Context) (paths []string, err error) {
	names, err := m.barrier.childrenAfter(ctx, m.barrier.commit, m.barrier.dir)
	for _, name := range m.round {
		if slices.Contains(names, name) {
			paths = append(paths, join(m.barrier.dir, name))
		}
	}
	return paths, err
}

// remove deletes the own znode and returns the members that are left.
func (m *attendance) remove(ctx context.Context, left []string) ([]string, error) {
	if _, err := m.barrier.retryConn.remove(ctx, m.place.path); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	m.gone = true
	return slices.DeleteFunc(left, func(path string) bool { return path == m.place.path }), nil
}

// waitForOldest waits for the oldest member to go; the oldest itself waits for the youngest.
func (m *attendance) waitForOldest(ctx context.Context, left []string, before *lookout) (err error) {
	target := left[0]
	if target == m.place.path {
		target = left[len(left)-1]
	}
	*before, err = m.barrier.look(ctx, *before, target)
	if err != nil || before.missing() {
		return err
	}
	return awaitAny(ctx, before)
}
