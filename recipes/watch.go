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

// awaitAny waits until the watch of one of several znodes fires; one without a watch never does. Of several ready cases
// select takes any: those that have fired already are looked at in order, so that equal events make equal runs.
func awaitAny(ctx context.Context, all ...*lookout) error {
	for _, o := range all {
		if e, is := fired(o.event); is {
			o.event = nil
			return closing(e)
		}
	}
	if len(all) == 1 {
		select {
		case e := <-all[0].event:
			all[0].event = nil
			return closing(e)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())}}
	for _, o := range all {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(o.event)})
	}
	chosen, event, _ := reflect.Select(cases)
	if chosen == 0 {
		return ctx.Err()
	}
	all[chosen-1].event = nil
	return closing(event.Interface().(zk.Event))
}

// fired returns the event of a watch that has fired already.
func fired(watch <-chan zk.Event) (e zk.Event, is bool) {
	select {
	case e = <-watch:
		return e, true
	default:
		return e, false
	}
}
