package published

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// assembly is what the published double barriers lack: the members of a round are written down, in the data of the
// barrier's znode. A round begins at one moment, at which all its members are there and none of the round before is
// left. Barriers with a bug of that kind do without the part of it that fixes the bug.
//
// A member is an ephemeral znode with a name of its own for each round, by which it is found again after a lost reply.
type assembly struct {
	client recipes.Conn
	dir    string
	size   int
	prefix string // of the names of members

	own     string   // the member's name
	session int64    // that owns its znode
	round   []string // the members of its round; none if that is not known
}

// enlist joins under a new name, and tries again when the connection is lost.
func (a *assembly) enlist(ctx context.Context) error {
	name := func() string { return a.prefix + recipes.NewGUID(a.client) }
	return a.admit(name, func(name string) error {
		err := retry(ctx, func() error { return a.join(name, zk.FlagEphemeral) })
		if errors.Is(err, zk.ErrNodeExists) {
			return nil // by a try whose reply was lost
		}
		return err
	})
}

// admit joins under a new name. If the session has been replaced meanwhile, even if only after the answer, the member
// of that name may have taken part in a round and died: then another one joins.
func (a *assembly) admit(name func() string, join func(name string) error) error {
	for {
		name, session := name(), a.client.SessionID()
		if err := join(name); err != nil || a.session == session {
			return err
		}
		a.remove()
	}
}

// join creates the member's znode, and the barrier's if that is missing.
func (a *assembly) join(name string, flags int32) error {
	a.own, a.session, a.round = name, a.client.SessionID(), nil
	path, err := createUnder(a.client, a.dir, name, flags)
	a.session = a.client.SessionID()
	if err == nil {
		a.own = strings.TrimPrefix(path, a.dir+"/")
	}
	return err
}

// enterRound joins, and waits until the round has begun.
func (a *assembly) enterRound(ctx context.Context) error {
	if err := a.enlist(ctx); err != nil {
		return err
	}
	return gather(ctx, func() (yes bool, changed []<-chan zk.Event, err error) {
		err = retry(ctx, func() (err error) { yes, changed, err = a.begun(); return err })
		return yes, changed, err
	})
}

// gather waits until enough says yes. enough names what will change when it may say so.
func gather(ctx context.Context, enough func() (yes bool, changed []<-chan zk.Event, err error)) error {
	for {
		yes, changed, err := enough()
		if yes || err != nil {
			return err
		}
		if _, err := awaitAny(ctx, changed...); err != nil {
			return err
		}
	}
}

// counted reports whether enough members are there, of whatever round.
func (a *assembly) counted() (yes bool, changed []<-chan zk.Event, err error) {
	list, came, err := a.present(true)
	a.round = list
	return len(list) >= a.size, []<-chan zk.Event{came}, err
}

// begun reports whether a round has begun in which the member takes part, and if not, what will change when that may
// be. A member that finds the last round over and enough members there begins the next.
func (a *assembly) begun() (yes bool, changed []<-chan zk.Event, err error) {
	for len(a.round) == 0 {
		last, version, written, err := a.written()
		if err != nil {
			return false, nil, err
		}
		if slices.Contains(last, a.own) {
			a.round = last
			break
		}
		names, came, err := a.present(true)
		if err != nil {
			return false, nil, err
		}
		lasts := slices.ContainsFunc(names, func(name string) bool { return slices.Contains(last, name) })
		if lasts || len(names) < a.size {
			return false, []<-chan zk.Event{written, came}, nil
		}
		if err := a.begin(names[:a.size], version); err != nil {
			return false, nil, err
		}
	}
	return true, nil, nil
}

// written reads the members of the last round that has begun.
func (a *assembly) written() (round []string, version int32, changed <-chan zk.Event, err error) {
	data, stat, changed, err := a.client.GetW(a.dir)
	if err = a.checked(err); err != nil {
		return nil, 0, nil, err
	}
	return strings.Fields(string(data)), stat.Version, changed, nil
}

// present lists the members that are there.
func (a *assembly) present(watched bool) (names []string, changed <-chan zk.Event, err error) {
	if watched {
		names, _, changed, err = a.client.ChildrenW(a.dir)
	} else {
		names, _, err = a.client.Children(a.dir)
	}
	if err = a.checked(err); err != nil {
		return nil, nil, err
	}
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, a.prefix) }), changed, nil
}

// checked returns the error of a request, or says that the session of the member's znode is over: then the answer
// means nothing. It may come from a server that lags behind what that session has seen.
func (a *assembly) checked(err error) error {
	if a.client.SessionID() != a.session {
		return zk.ErrSessionExpired
	}
	return err
}

// begin begins a round, unless one of its members has gone or another round has begun.
func (a *assembly) begin(names []string, version int32) error {
	var ops []any
	for _, name := range names {
		ops = append(ops, &zk.CheckVersionRequest{Path: a.dir + "/" + name, Version: -1})
	}
	ops = append(ops, &zk.SetDataRequest{Path: a.dir, Data: []byte(strings.Join(names, "\n")), Version: version})
	_, err := a.client.Multi(ops...)
	if err == nil && slices.Contains(names, a.own) {
		a.round = names
	}
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
		err = nil
	}
	return a.checked(err)
}

// left lists the members that are left of the round, or all if the round is not known.
func (a *assembly) left(ctx context.Context, watched bool) (names []string, changed <-chan zk.Event, err error) {
	err = retry(ctx, func() error { names, changed, err = a.present(watched); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil, nil // not even the barrier's znode
	}
	if len(a.round) > 0 {
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(a.round, name) })
	}
	return names, changed, placeLost(err)
}

// remove deletes the member's znode, whatever becomes of the connection.
func (a *assembly) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeMax)
	defer cancel()
	err := retry(ctx, func() error { return a.client.Delete(a.dir+"/"+a.own, -1) })
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return placeLost(a.checked(err))
}

// orRemove deletes the member's znode if something has failed.
func (a *assembly) orRemove(err error) error {
	if err != nil {
		a.remove()
	}
	return err
}

// removeMax is the time after which a connection that does not answer is closed.
const removeMax = time.Minute

// placeLost says in this project's word that the session has ended, so that the others may have left.
func placeLost(err error) error {
	if errors.Is(err, zk.ErrSessionExpired) {
		return recipes.ErrPlaceLost
	}
	return err
}

// disperse leaves as the official recipe says: the first waits for the last, the others delete their znodes and wait
// for the first.
func (a *assembly) disperse(ctx context.Context) error {
	for {
		names, _, err := a.left(ctx, false)
		if err != nil || len(names) == 0 {
			return err
		}
		lowest, highest := names[0], names[len(names)-1]
		if lowest == a.own && highest == a.own {
			return a.remove()
		}
		if lowest == a.own {
			err = a.awaitGone(ctx, highest)
		} else if err = a.remove(); err == nil {
			err = a.awaitGone(ctx, lowest)
		}
		if err != nil {
			return err
		}
	}
}

// awaitGone waits until the znode of a member changes, unless it is gone.
func (a *assembly) awaitGone(ctx context.Context, name string) error {
	var gone <-chan zk.Event
	err := retry(ctx, func() (err error) { _, _, gone, err = a.client.GetW(a.dir + "/" + name); return err })
	err = a.checked(err)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil
	case err != nil:
		return placeLost(err)
	}
	_, err = awaitAny(ctx, gone)
	return err
}

// sayReady creates the znode "ready" if enough are there, else it waits until that is created.
func (a *assembly) sayReady(ctx context.Context, there int, created <-chan zk.Event) error {
	if there < a.size {
		return awaitReady(ctx, created)
	}
	err := retry(ctx, func() error {
		_, err := a.client.Create(a.dir+"/ready", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		return err
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// awaitReady waits until a znode is created that was not there.
func awaitReady(ctx context.Context, created <-chan zk.Event) error {
	event, err := awaitAny(ctx, created)
	if err == nil && event.Type != zk.EventNodeCreated {
		return zk.ErrSessionExpired // the watch is gone, with the session or the connection
	}
	return err
}
