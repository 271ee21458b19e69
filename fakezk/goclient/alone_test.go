package goclient_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
)

// Goroutines that one event wakes go on one after the other: whoever reads the channel of all events,
// then the first who waits at the watch, then the other, who finds it closed. (They write without a
// lock: the race detector would see two at a time.)
func TestEventReachesOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(fakezk.Config{})
		c := goclient.NewClient(w, w.servers, 4000, synctest.Wait)
		conn := c.Handle(0)
		if err := c.Dial(w.now, 0); err != nil {
			t.Fatal(err)
		}
		drain(c.Events())
		var watch <-chan zk.Event
		if err := w.do(c, func() (err error) { _, _, watch, err = conn.ExistsW("/a"); return err }); err != nil {
			t.Fatal(err)
		}
		var told []string
		events := c.Events()
		go func() {
			for range events {
				told = append(told, "events")
			}
		}()
		synctest.Wait()
		for range 2 {
			go func() {
				e, open := <-watch
				switch {
				case open:
					told = append(told, "watch: "+e.Type.String())
				default:
					told = append(told, "watch: closed")
				}
			}()
			synctest.Wait()
		}
		if err := w.do(c, create(conn, "/a", 0)); err != nil {
			t.Fatal(err)
		}
		if want := []string{"events", "watch: EventNodeCreated", "watch: closed"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		c.Finish()
	})
}
