package recipes

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/go-zookeeper/zk"
)

// The data of a contender for an [RWLock] is a set of flags, words with spaces between them. Flags are added and
// never taken away, so that to add one again does no harm.
var (
	// flagUnlock asks the holder to release the lock. The name is that of ZooKeeper's recipe "Revocable Shared Locks".
	flagUnlock = []byte("unlock")
	// flagShared says that the holder of a write lock has become a reader.
	flagShared = []byte("shared")
)

func hasFlag(data, flag []byte) bool {
	return slices.ContainsFunc(bytes.Fields(data), func(w []byte) bool { return bytes.Equal(w, flag) })
}

// addFlag adds a flag to a znode whose name is never used again. Others may do so at the same time: the znode's
// version tells.
func (l *retryConn) addFlag(ctx context.Context, path string, flag []byte) error {
	for {
		data, stat, err := l.get(ctx, path)
		if err != nil || hasFlag(data, flag) {
			return err
		}
		with := bytes.Join(append(bytes.Fields(data), flag), []byte(" "))
		_, err = l.persist(ctx, func() error { _, err := l.conn.Set(path, with, stat.Version); return err })
		if !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
	}
}

// own reads a znode that is believed to be the own one, with a watch; errDisplaced if it is gone or belongs to
// another session.
func (l *retryConn) own(ctx context.Context, path string) (ticket, error) {
	data, stat, watch, err := l.getW(ctx, path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return ticket{}, errDisplaced
	case err != nil:
		return ticket{}, err
	case stat.EphemeralOwner != l.conn.SessionID():
		return ticket{}, errDisplaced
	}
	return ticket{czxid: stat.Czxid, session: stat.EphemeralOwner, data: data, watch: watch}, nil
}

// anyEvent waits for an event on one of several watches.
func anyEvent(ctx context.Context, events []<-chan zk.Event) error {
	if e, fired := firstEvent(events...); fired {
		return closing(e)
	}
	if len(events) == 1 {
		select {
		case e := <-events[0]:
			return closing(e)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())}}
	for _, event := range events {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(event)})
	}
	chosen, value, ok := reflect.Select(cases)
	switch {
	case chosen == 0:
		return ctx.Err()
	case !ok:
		return nil // the event went to another reader of this channel: look again
	}
	return closing(value.Interface().(zk.Event))
}
