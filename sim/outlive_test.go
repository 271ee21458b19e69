package sim_test

import (
	"context"
	"errors"
	"io"
	"log"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// What package variables keep from one episode to the next.
var (
	keptConn recipes.Conn
	keptOnce sync.Once
	keptInit atomic.Bool
)

// outliving are locks that begin once in a process, as programs do.
var outliving = map[string]func() sim.Workload{
	"keeps-conn": func() sim.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			keptOnce.Do(func() { keptConn = c })
			return recipes.NewLock(keptConn, path)
		})
	},
	"keeps-wire": func() sim.Workload {
		return ownConn(func(s workload.Servers, path string) workload.Locker {
			keptOnce.Do(func() { keptConn = connected(s) })
			return recipes.NewLock(keptConn, path)
		})
	},
	"keeps-init": func() sim.Workload {
		return ownConn(func(s workload.Servers, path string) workload.Locker {
			l := recipes.NewLock(connected(s), path)
			if keptInit.Swap(true) {
				return initTwice{l}
			}
			return l
		})
	},
}

func ownConn(make func(workload.Servers, string) workload.Locker) sim.Workload {
	return workload.Of(workload.Lock, make)
}

func connected(s workload.Servers) *zk.Conn {
	conn, _, err := zk.Connect(s.Addresses, 4*time.Second, s.Option, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		panic(err)
	}
	return conn
}

type initTwice struct{ workload.Locker }

func (initTwice) Lock(context.Context) error { return errors.New("Init called more than once") }

// What an earlier episode has left in a package variable is said, and the recipe is accused of nothing.
func TestWhatOutlivesAnEpisodeIsSaid(t *testing.T) {
	for name, want := range map[string]string{
		"keeps-conn": "a connection of an earlier episode is used at ",
		"keeps-init": "something that outlives an episode keeps",
		"keeps-wire": `"a synctest channel": "of another episode is kept by a package variable`,
	} {
		t.Run(name, func(t *testing.T) {
			out, status := child(t, "test "+name)
			if status == 0 || !strings.Contains(out, want) || !strings.Contains(out, "workload.Statics") || strings.Contains(out, "replay: ") {
				t.Errorf("status %d, and it should say %q:\n%s", status, want, tail(out))
			}
		})
	}
}
