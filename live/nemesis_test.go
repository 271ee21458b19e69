package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// fragile are servers that record what is done to them.
type fragile struct {
	mu   sync.Mutex
	hurt bool
	log  []string
	sick error // what Heal returns
	over func()
}

func (f *fragile) say(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

func (f *fragile) Strike(_ context.Context, fault ensemble.Fault) (*ensemble.Struck, error) {
	if fault.Kind == strike.Lag {
		f.say("%v fails", fault)
		return nil, errors.New("it leads")
	}
	f.say("%v", fault)
	f.set(true)
	over := func() error { f.say("%v is over", fault); f.over(); return nil }
	return &ensemble.Struck{Fault: fault, Role: "leader", Undo: over}, nil
}

func (f *fragile) HealAll(context.Context) error {
	f.say("heal")
	f.set(false)
	return f.sick
}

func (f *fragile) isHurt() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hurt
}

func (f *fragile) set(hurt bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hurt = hurt
}

// answering is a connection that answers a sync, and nothing else.
type answering struct{ recipes.Conn }

func (answering) Sync(path string) (string, error) { return path, nil }

// planOf plans a fault without a measure.
func planOf(at int64, kind strike.Fault, target ensemble.Target, lasts int64) ServerFault {
	return ServerFault{AtMS: at, Fault: ensemble.Fault{Kind: kind, Target: target}, ForMS: lasts}
}

// inTurn returns strikes one after the other, then nil.
func inTurn(strikes ...[]ServerFault) func() []ServerFault {
	return func() (next []ServerFault) {
		if len(strikes) > 0 {
			next, strikes = strikes[0], strikes[1:]
		}
		return next
	}
}

// alone is a strike of one fault.
func alone(f ServerFault) []ServerFault { return []ServerFault{f} }

func withNemesis(servers *fragile) (*liveRun, *bytes.Buffer) {
	strikes := &bytes.Buffer{}
	r := &liveRun{begin: time.Now(), rounds: map[*round]bool{}, admin: &Session{Conn: answering{}}}
	r.cfg = Config{Servers: servers, Strikes: strikes, Root: "/r"}
	r.result.Struck = map[string]int{}
	r.nemesis.since, r.nemesis.begun = r.begin, make(chan struct{}, 1)
	r.playing(&round{ops: []*world.Op{{Name: "acquire"}}}, true)
	return r, strikes
}

// Faults of servers strike at their moments, those of one moment end one by one, all is healed after each, and what
// came of it is written down.
func TestServersAreStruck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := &fragile{over: func() {}}
		r, strikes := withNemesis(servers)
		if err := r.runNemesis(t.Context(), t.Context(), inTurn(
			[]ServerFault{planOf(100, strike.Kill, ensemble.Leader, 9000), planOf(100, strike.Stop, 2, 20)},
			alone(planOf(5000, strike.Stop, 1, 10)), // while the first strike lasts
			alone(ServerFault{AtMS: 20000, Fault: ensemble.Fault{Kind: strike.Lag, Target: ensemble.Follower}, ForMS: 20}),
		)); err != nil {
			t.Fatal(err)
		}
		want := []string{"kill leader", "stop server.3", "stop server.3 is over", "kill leader is over", "heal",
			"stop server.2", "stop server.2 is over", "heal", "lag follower fails", "heal"}
		if diff := cmp.Diff(want, servers.log); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]int{"kill": 1, "leader": 1, "stop": 2},
			r.result.Struck); diff != "" {
			t.Error(diff)
		}
		if r.nemesis.count() != 3 {
			t.Errorf("%d strikes", r.nemesis.count())
		}
		lines := strings.Split(strings.TrimSpace(strikes.String()), "\n")
		if len(lines) != 4 || !strings.Contains(lines[1], `"at":100000`) ||
			!strings.Contains(lines[1], `"whom":"server.1 (leader)"`) ||
			!strings.Contains(lines[1], `"struck":true`) ||
			!strings.Contains(lines[3], `"error":"it leads","struck":false`) {
			t.Errorf("%s", strikes)
		}
	})
}

// A fault waits for an operation that it can strike.
func TestServersOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := &fragile{over: func() {}}
		r, strikes := withNemesis(servers)
		kill := alone(planOf(100, strike.Kill, ensemble.Leader, 20))
		clear(r.rounds)
		r.nemesis.operationBegan() // of a round that has ended
		go func() {
			time.Sleep(time.Second)
			if len(servers.log) > 0 {
				t.Errorf("struck while no operation was under way: %q", servers.log)
			}
			r.playing(&round{ops: []*world.Op{{Name: "acquire"}}}, true)
			r.nemesis.operationBegan()
		}()
		if err := r.runNemesis(t.Context(), t.Context(), inTurn(kill)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strikes.String(), `"at":1000000000,`) {
			t.Errorf("not struck when one began: %s", strikes)
		}
		clear(r.rounds)
		timed, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.runNemesis(t.Context(), timed, inTurn(kill)); err != nil || r.nemesis.count() != 1 {
			t.Errorf("%d strikes in a run that ended without an operation, %v", r.nemesis.count(), err)
		}
	})
}

// While servers are hurt nothing starts that needs healthy servers, and no patience ends. (Not in a bubble: waiting for
// a mutex is not idle there.)
func TestHealthyServers(t *testing.T) {
	servers := &fragile{}
	r, _ := withNemesis(servers)
	servers.over = func() {
		if r.nemesis.well(0) {
			t.Error("servers that are hurt count as well")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			for ctx.Err() == nil {
				r.whileHealthy(func() error {
					if servers.isHurt() {
						t.Error("somebody who needs servers that are well meets one that is not")
					}
					return nil
				})
			}
		})
	}
	if err := r.runNemesis(ctx, ctx, inTurn(alone(planOf(0, strike.Stop, ensemble.Leader, 30)), alone(planOf(40, strike.Kill, ensemble.Leader, 30)))); err != nil {
		t.Error(err)
	}
	if !r.nemesis.well(0) || r.nemesis.well(time.Hour) {
		t.Error("servers are well from when they are healed")
	}
	cancel()
	all.Wait()
}

// Servers that do not recover end the run, and what waits for them goes on.
func TestServersDoNotRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := withNemesis(&fragile{over: func() {}, sick: errors.New("server.2 is silent")})
		err := r.runNemesis(t.Context(), t.Context(), inTurn(alone(planOf(1, strike.Stop, ensemble.Leader, 1))))
		if err == nil || !strings.Contains(err.Error(), "have not recovered") || !strings.Contains(err.Error(), "server.2 is silent") {
			t.Error(err)
		}
		r.whileHealthy(func() error { return nil })
	})
}

// sleeper is a process that records what is done to it.
type sleeper struct {
	mu  sync.Mutex
	log []string
}

func (s *sleeper) say(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
	return nil
}

func (s *sleeper) Pause() error  { return s.say("pause") }
func (s *sleeper) Resume() error { return s.say("resume") }
func (s *sleeper) Kill() error   { return s.say("kill") }

// A user whose client is paused does nothing meanwhile; a pause ends with the torture at the latest.
func TestPausedUsersStandStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process := &sleeper{}
		l := &round{run: &liveRun{}, ctx: t.Context(), episode: soloEpisode{}, sessions: []*Session{{Process: process}},
			asleep: map[int]chan struct{}{}, healed: make(chan struct{})}
		u := l.user(0, 0)
		begun := time.Now()
		after := func() time.Duration { return time.Since(begun) }
		l.lasting.Go(func() { l.strikeProcess(Fault{Client: 1, Fault: "pause", Variant: "later", ForMS: 700}) })
		u.Do("write", func() string { return "" })
		if want := 700*time.Millisecond + workTime/2; after() != want {
			t.Errorf("the user goes on after %v, want %v", after(), want)
		}
		begun = time.Now()
		l.lasting.Go(func() { l.strikeProcess(Fault{Client: 1, Fault: "pause", ForMS: 60000}) })
		time.AfterFunc(time.Second, l.heal)
		synctest.Wait()
		u.Do("write", func() string { return "" })
		if after() != time.Second {
			t.Errorf("the user goes on after %v, want a second", after())
		}
		l.lasting.Wait()
		l.strikeProcess(Fault{Client: 1, Fault: "crash"})
		if diff := cmp.Diff([]string{"pause", "resume", "pause", "resume", "kill"}, process.log); diff != "" {
			t.Error(diff)
		}
	})
}

// soloEpisode has one client with one user.
type soloEpisode struct{ workload.Episode }

func (soloEpisode) Users() []int { return []int{1} }
