package recipes

import (
	"context"
	"errors"
	"reflect"

	"github.com/go-zookeeper/zk"
)

// lookout is a znode as it was read last, and the watch that was set then. While the watch has not fired, what was
// read is as good as a new read: within one session nothing newer can be seen before the event is. So a recipe that
// looks at several znodes in turn reads again only what has changed, and leaves one watch for each znode and no more.
type lookout struct {
	path  string
	data  []byte
	stat  *zk.Stat // nil: the znode was missing
	event <-chan zk.Event
}

// look reads a znode and watches it, unless it is watched already. A missing znode is not watched: nothing could ever
// remove that watch.
func (l *retryConn) look(ctx context.Context, last lookout, path string) (lookout, error) {
	if last.path == path && last.event != nil && len(last.event) == 0 {
		return last, nil
	}
	data, stat, event, err := l.getW(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return lookout{path: path}, nil
	}
	return lookout{path, data, stat, event}, err
}

// missing reports whether the znode was not there.
func (o lookout) missing() bool { return o.stat == nil }

// awaitEither returns when one of two watches fires; one without a watch never does.
func awaitEither(ctx context.Context, a, b *lookout) error {
	for _, o := range []*lookout{a, b} {
		if e, fired := firstEvent(o.event); fired {
			o.event = nil
			return closing(e)
		}
	}
	var e zk.Event
	select {
	case e = <-a.event:
		a.event = nil
	case e = <-b.event:
		b.event = nil
	case <-ctx.Done():
		return ctx.Err()
	}
	return closing(e)
}

// firstEvent returns the event of the first watch that has fired already. Of several ready cases select takes any; a
// recipe looks at them in a fixed order, so that equal events make equal runs.
func firstEvent(watches ...<-chan zk.Event) (e zk.Event, fired bool) {
	for _, watch := range watches {
		select {
		case e = <-watch:
			return e, true
		default:
		}
	}
	return e, false
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
