package runner

import (
	"context"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zktorture/zktorture/sim/world"
)

// label labels the calling goroutine, and those that it starts from then on, with the episode that they run, until end is
// called. When one of them panics nobody can recover from it, and the process ends; the runtime prints the label of that
// goroutine then. (A goroutine of [time.AfterFunc] inherits none; GOTRACEBACK=all prints the others.)
func label(episode string) (end func()) {
	if episode == "" {
		return func() {}
	}
	showLabels()
	labels := []string{"zktorture", episode}
	if labelled.Swap(true) {
		labels = append(labels, "a synctest channel", keeps)
	}
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(labels...)))
	return func() { pprof.SetGoroutineLabels(context.Background()) }
}

// labelled tells that an episode has been run in this process. What a later one has of it ends the process, if it is a channel;
// nobody can recover from that, either.
var labelled atomic.Bool

const keeps = "of another episode is kept by a package variable, such as a connection's. " + world.Outlives

// showLabels lets the runtime print the labels of goroutines that panic, unless GODEBUG says whether it should.
var showLabels = sync.OnceFunc(func() {
	const setting = "tracebacklabels="
	if debug := os.Getenv("GODEBUG"); !strings.Contains(debug, setting) {
		os.Setenv("GODEBUG", strings.TrimPrefix(debug+","+setting+"1", ","))
	}
})
