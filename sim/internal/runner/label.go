package runner

import (
	"context"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
)

// label labels the calling goroutine, and those that it starts from then on, with the episode that they run, until end is
// called. When one of them panics nobody can recover from it, and the process ends; the runtime prints the label of that
// goroutine then. (A goroutine of [time.AfterFunc] inherits none; GOTRACEBACK=all prints the others.)
func label(episode string) (end func()) {
	if episode == "" {
		return func() {}
	}
	showLabels()
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("zktorture", episode)))
	return func() { pprof.SetGoroutineLabels(context.Background()) }
}

// showLabels lets the runtime print the labels of goroutines that panic, unless GODEBUG says whether it should.
var showLabels = sync.OnceFunc(func() {
	const setting = "tracebacklabels="
	if debug := os.Getenv("GODEBUG"); !strings.Contains(debug, setting) {
		os.Setenv("GODEBUG", strings.TrimPrefix(debug+","+setting+"1", ","))
	}
})
