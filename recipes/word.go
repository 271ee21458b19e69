package recipes

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/go-zookeeper/zk"
)

// The data of a contender for an [RWLock] is a set of words, separated by spaces. Words are added
// and never taken away, so that to add one again does no harm.
var (
	// wordUnlock asks the holder to release the lock. The name is that of ZooKeeper's recipe
	// "Revocable Shared Locks".
	wordUnlock = []byte("unlock")
	// wordShared says that the holder of a write lock has become a reader.
	wordShared = []byte("shared")
)

func hasWord(data, word []byte) bool {
	return slices.ContainsFunc(bytes.Fields(data), func(w []byte) bool { return bytes.Equal(w, word) })
}

// addWord adds a word to a znode whose name is never used again. Others may do so at the same time:
// the znode's version tells.
func (l *link) addWord(ctx context.Context, path string, word []byte) error {
	for {
		data, stat, err := l.get(ctx, path)
		if err != nil || hasWord(data, word) {
			return err
		}
		with := bytes.Join(append(bytes.Fields(data), word), []byte(" "))
		_, err = l.persist(ctx, func() error { _, err := l.conn.Set(path, with, stat.Version); return err })
		if !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
	}
}

// own reads a znode that is believed to be the own one, with a watch; errDisplaced if it is gone or
// belongs to another session.
func (l *link) own(ctx context.Context, path string) (place, error) {
	data, stat, watch, err := l.getW(ctx, path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return place{}, errDisplaced
	case err != nil:
		return place{}, err
	case stat.EphemeralOwner != l.conn.SessionID():
		return place{}, errDisplaced
	}
	return place{czxid: stat.Czxid, session: stat.EphemeralOwner, data: data, watch: watch}, nil
}

// anyEvent waits for an event on one of several watches.
func anyEvent(ctx context.Context, events []<-chan zk.Event) error {
	if e, fired := firstEvent(events...); fired {
		return closing(e)
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
