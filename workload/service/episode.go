package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// episode is one episode of a service. A user is an instance: its goroutine runs Start, and a script beside it lets time
// pass, waits until all faults are over and the service is at rest, and stops it.
type episode struct {
	workload.Script[turn]
	of Service

	mu       sync.Mutex
	present  []*Instance // by process, in its present life
	observed []Observation
	done     []*world.Op // by [Instance.Do]
	starts   []*world.Op // calls of Start
	failed   []*world.Op // of these, before they were to return
	rested   int         // how many instances' calm is over
	rest     *Rest       // nil: it was not reached
	down     []downtime
	found    []sim.Violation // at rest
	hung     []*world.Op     // calls of Start that do not return
}

// downtime is an instance that is not up at rest, and why.
type downtime struct {
	starts *world.Op // its last call of Start
	why    string
}

// A service is at rest when it has been left alone for calm, which is longer than the longest session that the servers
// grant; then it has stopTime to stop. In the calm Start is called again after a second, and who goes on failing in its
// second half is not up. Both times are shorter than what the world waits for anything to happen.
const (
	calm     = 90 * time.Second
	stopTime = 30 * time.Second
	failsMax = 3
)

// Parents implements [workload.Episode]: a service makes what it needs.
func (e *episode) Parents() []string { return nil }

// Run implements [workload.Episode].
func (e *episode) Run(u workload.User) {
	i := &Instance{
		Number: u.Client(), Servers: slices.Clone(e.of.Servers), of: e, user: u, pause: time.Second,
		declared: map[string]*declaration{}, ended: make(chan struct{}),
	}
	i.life, i.stop = context.WithCancel(context.Background())
	e.mu.Lock()
	e.present[i.Number] = i
	e.mu.Unlock()
	over := make(chan struct{})
	go func() {
		defer close(over)
		e.script(i)
	}()
	i.run()
	<-over
}

// run calls Start until it returns nil, or is to stop.
func (i *Instance) run() {
	defer close(i.ended)
	for again := true; again; {
		ctx, op := i.begin("start", "", false)
		i.of.mu.Lock()
		i.starts, i.ready = op, false
		if op != nil {
			i.of.starts = append(i.of.starts, op)
		}
		i.of.mu.Unlock()
		ctx, cancel := context.WithCancel(ctx)
		release := context.AfterFunc(i.life, cancel)
		err := i.of.of.Start(ctx, i)
		release()
		cancel()
		again = i.returned(err)
	}
}

// returned takes what Start has returned, and pauses before it is called again, if it is.
func (i *Instance) returned(err error) (again bool) {
	i.note(func() {
		for _, name := range slices.Sorted(maps.Keys(i.declared)) {
			i.withdraw(name)
		}
	})
	i.end(i.starts, "", err)
	i.of.mu.Lock()
	if again = err != nil && i.life.Err() == nil; again {
		i.failed, i.of.failed = append(i.failed, i.starts), append(i.of.failed, i.starts)
	}
	pause := i.pause
	i.of.mu.Unlock()
	if again {
		select {
		case <-time.After(pause):
		case <-i.life.Done():
		}
	}
	return again && i.life.Err() == nil
}

// script is what happens to an instance beside what it does itself.
func (e *episode) script(i *Instance) {
	u := i.user
	for t := range e.Turns(u) {
		i.note(func() { i.pause = t.pause })
		u.Wait(t.lasts)
		u.Do("goes on", func() string { return fmt.Sprintf("%v later", t.lasts) })
	}
	u.AwaitLiveness()
	i.note(func() { i.pause, i.failed = time.Second, nil })
	u.Wait(calm / 2)
	i.note(func() { i.before = len(i.failed) })
	u.Wait(calm / 2)
	i.note(func() { e.rested++ })
	for rests := false; !rests; i.note(func() { rests = e.rested >= len(e.present) }) {
		u.Wait(time.Second)
	}
	u.Do("rest", func() string {
		e.comesToRest(u)
		return fmt.Sprintf("%v after the last fault", calm)
	})
	_, op := i.begin("stop", "", false)
	i.stop()
	var err error
	select {
	case <-i.ended:
	case <-time.After(stopTime):
		err = fmt.Errorf("it has not returned within %v", stopTime)
		i.note(func() { e.hung = append(e.hung, i.starts) })
	}
	i.end(op, "", err)
	i.note(func() { i.over = true })
}

// note notes something about an instance, or its episode.
func (i *Instance) note(what func()) {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	what()
}

// believe asks all who declare something whether they do so against better knowledge.
func (e *episode) believe(name string) {
	for _, i := range e.present {
		if d := i.declared[name]; d != nil {
			d.Believes()
		}
	}
}

// comesToRest notes what the service at rest is like, once.
func (e *episode) comesToRest(u workload.User) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rest != nil {
		return
	}
	e.rest = &Rest{
		Instances: len(e.present), Tree: map[string]string{}, Declared: map[string][]int{},
		Observed: e.observed, Done: e.done,
	}
	w := u.(observed).World()
	w.Servers().Walk("/", func(path string, n fakezk.NodeInfo) {
		if path != "/" && path+"/" != "/zookeeper/" && !strings.HasPrefix(path, "/zookeeper/") {
			e.rest.Tree[path] = string(n.Data)
		}
	})
	for _, i := range e.present {
		for name := range i.declared {
			e.rest.Declared[name] = append(e.rest.Declared[name], i.Number)
		}
		if why := i.isDown(); why != "" {
			e.down = append(e.down, downtime{i.starts, why})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.rest.Declared)) {
		e.believe(name)
	}
	e.look(w)
}

// isDown says why an instance is not up, "" if it is.
func (i *Instance) isDown() string {
	switch n := len(i.failed); {
	case n >= failsMax && n > i.before:
		return fmt.Sprintf("its start has failed %d times since, at last with %q", n, i.failed[n-1].Err)
	case i.of.of.Readies && !i.ready && i.starts.Outcome == world.Running:
		return "it has not said that it is ready"
	}
	return ""
}
