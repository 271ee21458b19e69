package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/call"
)

// candidatePrefix begins the names of the znodes of an election.
const candidatePrefix = "candidate-"

// ErrNoLeader is returned by Leader when there was no candidate at a moment during the call.
var ErrNoLeader = errors.New("recipes: nobody leads and nobody is a candidate")

// Candidate takes part in the election of a leader. After ZooKeeper's recipe "Leader Election" (ZooKeeper Recipes and
// Solutions), with the changes below. To lead is to hold a lock, so it is built on what [Lock] is built on.
//
// # Znodes
//
// A candidate is an ephemeral sequential znode dir/candidate-<guid>-<sequence>, with a fresh guid for each campaign
// and the data of [WithData], such as the address at which the leader is reached. The candidate created first leads.
// Every other watches the one right before it and looks again when that is gone.
//
// # Promises
//
// At most one leader: two candidates whose sessions are alive do not lead at the same time. Terms are granted in the
// order in which the candidates' znodes were created, and their tokens grow. Progress: when a leader resigns, or its
// session ends, the next candidate leads. Nothing is left behind by a candidate that gives up.
//
// What no election can promise is that a leader knows at once that its session has ended: for a while there may be an
// old leader that does not know yet and a new one. [Candidate.Lost] tells as soon as the client learns of it. Let
// whatever the leader commands refuse smaller tokens than it has seen ([Candidate.Token]); the token is the epoch of
// the term.
//
// # Cost
//
// An uncontested Campaign takes three requests (create, list, read with watch) and Resign one; a candidate that has to
// wait adds one for the watch and one list after its turn has come. The end of a term wakes the next candidate only. A
// leader and a waiting candidate keep one watch each. Leader takes three requests (sync, which is a transaction unless
// [WithSync] is given, list, read) and leaves no watch.
//
// # Errors
//
// Campaign returns the context's error when it ended: the candidate does not lead and has withdrawn. [ErrHeld] means
// that this Candidate leads or campaigns already. Resign returns [ErrLost] when the term had ended before: another
// may lead already; and [ErrNotHeld] without a term.
//
// # Wrong versions that tempt
//
//   - "The candidate before me is gone, so I lead": it may have been waiting itself. Only the list tells who is first.
//   - Handling the deletion of the own znode and not the end of the session: the leader that was cut off goes on for
//     ever.
//   - Names without a guid: after a lost reply the second znode waits behind the first, which is the candidate's own.
//   - The sequence number as epoch: it begins again when dir is removed, and ends at 2^31.
//
// A Candidate belongs to one user at a time, although its methods may be called from any goroutine. Several may share
// a connection and a directory.
type Candidate struct{ office *Lock }

// NewCandidate returns a candidate in the election of the directory dir. It takes the options of a lock:
// [WithListener]'s Acquired is called when a term begins and Released when it has ended.
func NewCandidate(conn Conn, dir string, opts ...LockOption) *Candidate {
	return &Candidate{newLock(conn, "leadership of", dir, opts)}
}

// Campaign waits until this candidate leads. It returns nil if so; a context that ends in the same moment as the term
// begins may give either result.
func (c *Candidate) Campaign(ctx context.Context) error {
	_, err := c.office.queue(ctx, candidateRule, exclusive, false)
	return err
}

// candidateRule: a candidate waits for the one right before it.
var candidateRule = rule{prefix: candidatePrefix, prefixes: []string{candidatePrefix}, before: rightBefore}

// Resign ends the term and returns when its znode is gone, so that the next candidate is sure to lead; a lost reply
// is no obstacle.
//
// If ctx ends first, that goes on in the background until it is done, the session ends or the connection is closed;
// the error says so and is the context's. Calling Resign again waits for it, and so does the next Campaign.
func (c *Candidate) Resign(ctx context.Context) error { return c.office.Unlock(ctx) }

// Lost returns a channel that is closed when the current term is known to be lost: the session has expired, the
// connection was closed, or the znode was deleted. Resign does not close it. It belongs to one term; without one, the
// channel returned is closed already.
func (c *Candidate) Lost() <-chan struct{} { return c.office.Lost() }

// Leads reports whether this candidate leads as far as this client knows.
func (c *Candidate) Leads() bool { return c.office.Held() }

// Token returns the epoch of the current term, positive and greater than that of every term of this election before
// it; 0 without a term. See [Lock.Token] for why.
func (c *Candidate) Token() int64 { return c.office.Token() }

// Settle waits for what goes on in the background: the withdrawal of a Campaign that has failed or whose context has
// ended, and a Resign whose context has ended. See [Lock.Settle] for what it returns.
func (c *Candidate) Settle(ctx context.Context) error { return c.office.Settle(ctx) }

// Lead campaigns, calls term when this candidate leads, and resigns when term has returned. The context of term ends
// when ctx does and when the leadership is lost. It returns the error of Campaign, or else those of term and of
// Resign, joined; so errors.Is(err, ErrLost) tells that the term was cut short.
//
// Nothing is left in the election when it returns, also if ctx has ended: it takes up to ten seconds more for that. If
// ZooKeeper does not answer for so long the error says so, and the rest goes on in the background, see
// [Candidate.Settle].
func (c *Candidate) Lead(ctx context.Context, term func(ctx context.Context, token int64) error) error {
	if err := c.Campaign(ctx); err != nil {
		return c.afterwards(ctx, err, c.Settle)
	}
	inOffice, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func(lost <-chan struct{}) {
		select {
		case <-lost:
			end(ErrLost)
		case <-inOffice.Done():
		}
	}(c.Lost())
	return c.afterwards(ctx, term(inOffice, c.Token()), c.Resign)
}

// afterwardsMax is how long Lead waits for the end of its term or of its candidature after its context has ended.
const afterwardsMax = 10 * time.Second

// afterwards does the last of a Lead that has come to err, and joins its error.
func (c *Candidate) afterwards(ctx context.Context, err error, last func(context.Context) error) error {
	ctx, cancel := call.WithTimeout(context.WithoutCancel(ctx), c.office.conn, afterwardsMax)
	defer cancel()
	if failed := last(ctx); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// Leader returns the data and the token of the leader, or [ErrNoLeader]. The caller need not be a candidate. The
// answer was true at a moment during the call: the znode was there and all before it were gone. The candidate that is
// named may not know of its turn yet, or may not know that it is over.
func (c *Candidate) Leader(ctx context.Context) (data []byte, token int64, err error) {
	first, err := carryOut(ctx, func(*operation) (ticket, error) {
		return untilSure(func() (ticket, error) { return c.first(ctx) })
	})
	return first.data, first.czxid, explain(err, "the leader of %s cannot be read", c.office.path)
}

// first reads the first candidate, all within one session, see [retryConn.after].
func (c *Candidate) first(ctx context.Context) (first ticket, err error) {
	g := &c.office.holder
	session := g.conn.SessionID()
	line, err := g.members(ctx, g.path, g.syncedChildren, candidatePrefix)
	if err != nil {
		return first, err
	}
	if len(line) == 0 {
		return first, ErrNoLeader
	}
	data, stat, err := g.get(ctx, join(g.path, line[0].name))
	switch {
	case errors.Is(err, zk.ErrNoNode), err == nil && g.conn.SessionID() != session:
		return first, errGone
	case err != nil:
		return first, err
	}
	return ticket{data: data, czxid: stat.Czxid}, nil
}
