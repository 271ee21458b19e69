package cluster

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/zktorture/zktorture/internal/call"
	"github.com/zktorture/zktorture/recipes"
)

// Shards divides a set among those that are there: each member of a group owns its share, and no two own the same. The
// algorithm is that of Kafka's first consumers and of kazoo's SetPartitioner.
//
//	for {
//		own, err := s.Share(ctx)      // waits until former owners have given up
//		…                             // work on its own, as long as s.Lost() is open, until
//		err = s.Stale(ctx)            // members have come or gone
//		err = s.Yield(ctx)
//	}
//
// # Znodes
//
// The members are a [recipes.Group] in dir/members. Each sorts their names and the shards, and takes every nth shard,
// beginning at its own place. It owns those whose [recipes.Lock] on dir/shards/<shard> it holds, all or none, by a
// [recipes.MultiLock].
//
// # Promises
//
// A shard has at most one owner at any time whose session is alive. When members have stopped to come and go, and all
// others have yielded, each shard has exactly one: Share waits for former owners, and begins anew when the group
// changes meanwhile. So a member that has a share must wait in Stale, and yield then, or leave. An owner whose session
// has ended may not know it yet: [Shards.Lost] tells as soon as the client learns of it.
//
// # Cost
//
// Share takes five requests (three more for a member that has to join), three for each shard, and more for each that
// has to be waited for. Yield takes one for each shard. Each member that comes or goes wakes all others.
//
// # Errors
//
// As for [recipes.Lock]. After an error of Share nothing is owned, and the user is no member any more.
//
// # Wrong versions that tempt
//
//   - Giving up after some tries to get a shard that another has not released yet: nobody ever owns it.
//   - Taking a share for good that was made before a member came: its shards have no owner, or wait for ever.
//   - Remembering what one owns beyond the end of a session.
//   - Deleting an owner's znode by its name alone: it may be the next owner's.
//
// A Shards belongs to one user at a time.
type Shards struct {
	conn   recipes.Conn
	dir    string
	shards []string // sorted
	opts   []recipes.LockOption
	name   string
	group  *recipes.Group

	members []string // of the group, when the share was made
	own     []string // the share
	locks   *recipes.MultiLock
}

// NewShards returns one that is to be a member of the group among which the shards are divided by the directory dir.
// All have to name the same shards.
func NewShards(conn recipes.Conn, dir string, shards []string, opts ...recipes.LockOption) *Shards {
	s := &Shards{conn: conn, dir: dir, shards: slices.Sorted(slices.Values(shards)), opts: opts}
	s.name = recipes.NewGUID(conn)
	s.group = recipes.NewGroup(conn, path.Join(dir, "members"), s.name, s.opts...)
	s.plan(nil)
	return s
}

// plan makes shards those that are to be owned.
func (s *Shards) plan(own []string) {
	var dirs []string
	for _, shard := range own {
		dirs = append(dirs, path.Join(s.dir, "shards", shard))
	}
	s.own, s.locks = own, recipes.NewMultiLock(s.conn, dirs, s.opts...)
}

// Share makes the user a member, if it is none, waits until it owns its share, and returns that, which may be empty.
// What it has owned before it must have yielded.
func (s *Shards) Share(ctx context.Context) ([]string, error) {
	for {
		err := s.divide(ctx)
		if err == nil {
			err = s.lock(ctx)
		}
		switch {
		case err == nil && !call.IsClosed(s.Lost()):
			return slices.Clone(s.own), nil
		case err == nil:
			s.Yield(ctx)
		case err != errStale:
			s.Leave(ctx)
			return nil, err
		}
	}
}

// divide finds the user's share among the members.
func (s *Shards) divide(ctx context.Context) error {
	for {
		if !s.group.Joined() {
			if err := s.group.Join(ctx); err != nil {
				return err
			}
		}
		members, err := s.group.Members(ctx)
		if err != nil {
			return err
		}
		if i := slices.Index(members, s.name); i >= 0 {
			var own []string
			for ; i < len(s.shards); i += len(members) {
				own = append(own, s.shards[i])
			}
			s.members = members
			s.plan(own)
			return nil
		}
	}
}

// errStale: the group has changed.
var errStale = errors.New("stale")

// lock waits for the locks of the share, or for the end of its time.
func (s *Shards) lock(ctx context.Context) error {
	if len(s.own) == 0 {
		return nil
	}
	within, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Stale(within)
		cancel()
	}()
	err := s.locks.Lock(within)
	cancel()
	<-ended
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return errStale
	}
	return err
}

// Stale waits until the members are not those among which the share was made.
func (s *Shards) Stale(ctx context.Context) error {
	_, err := s.group.Changed(ctx, s.members)
	return err
}

// Yield gives the share back and returns when others can have it, see [recipes.MultiLock.Unlock]. The user remains a
// member.
func (s *Shards) Yield(ctx context.Context) error { return s.locks.Unlock(ctx) }

// Leave ends the membership, and gives the share back if that was not yielded.
func (s *Shards) Leave(ctx context.Context) error {
	err := s.Yield(ctx)
	if left := s.group.Leave(ctx); err == nil || errors.Is(err, recipes.ErrNotHeld) {
		return left
	}
	return err
}

// Lost returns a channel that is closed when the share is known to be lost, see [recipes.MultiLock.Lost].
func (s *Shards) Lost() <-chan struct{} {
	if len(s.own) == 0 {
		return s.group.Lost()
	}
	return s.locks.Lost()
}

// Token returns the fencing token of a shard that is owned, see [recipes.MultiLock.Token]; 0 of another.
func (s *Shards) Token(shard string) int64 { return s.locks.Token(path.Join(s.dir, "shards", shard)) }
