//go:build zktexact

package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload/service"
)

const app = "/app"

// registry is a service whose instances have an ephemeral znode below app, and follow who is there. What it does wrong is
// a flag.
type registry struct {
	dies       bool          // when a session has expired
	lasts      time.Duration // until it has done its work; 0: for ever
	onData     bool          // go-kratos: where app is missing it watches that, and goes on so when app is there by now
	nilWatch   bool          // gf, go-kit: after an error it waits on a nil channel
	leaves     bool          // go-kit: it deletes the parent of its znode, which fails, and does not close its connection
	onlyOnce   bool          // it does not make its znode again
	withoutEnd bool          // Comcast/go-leaderelection: it takes an expiry for nothing
}

func (r registry) service(says service.Expiry) service.Service {
	return service.Service{Start: r.start, Follows: []string{app}, Expiry: says}
}

func (r registry) start(ctx context.Context, i *service.Instance) error {
	conn, events, err := zk.Connect(i.Servers, 4*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if r.lasts > 0 {
		defer time.AfterFunc(r.lasts, func() { end(nil) }).Stop()
	}
	if r.leaves {
		defer conn.Delete(app, -1)
	} else {
		defer conn.Close()
	}
	again := make(chan struct{}, 1)
	go func() {
		for event := range events {
			if event.State == zk.StateExpired && r.dies && !r.withoutEnd {
				end(zk.ErrSessionExpired)
			}
			select {
			case again <- struct{}{}:
			default:
			}
		}
	}()
	follows, registered := true, int64(0)
	for {
		var watch <-chan zk.Event
		if err = nil; follows {
			watch, err = r.follow(conn)
			follows = err == nil || !r.nilWatch
		}
		session := conn.SessionID()
		if session != registered && (registered == 0 || !r.dies && !r.onlyOnce) {
			if e := register(conn); e == nil {
				registered = session
			} else {
				err = e
			}
		}
		var soon <-chan time.Time
		if err != nil {
			soon = time.After(time.Second)
		}
		select {
		case <-watch:
		case <-soon:
		case <-again:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), zk.ErrSessionExpired) {
				return zk.ErrSessionExpired
			}
			return nil
		}
	}
}

// follow reads who is there, with a watch.
func (r registry) follow(conn *zk.Conn) (watch <-chan zk.Event, err error) {
	_, _, watch, err = conn.ChildrenW(app)
	switch {
	case errors.Is(err, zk.ErrNoNode) && r.onData:
		_, _, watch, err = conn.ExistsW(app)
	case errors.Is(err, zk.ErrNoNode) && !r.nilWatch:
		conn.Create(app, nil, 0, zk.WorldACL(zk.PermAll))
		_, _, watch, err = conn.ChildrenW(app)
	}
	return watch, err
}

func register(conn *zk.Conn) error {
	name := fmt.Sprintf("%s/%016x", app, rand.Uint64())
	_, err := conn.Create(name, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNoNode) {
		conn.Create(app, nil, 0, zk.WorldACL(zk.PermAll))
		_, err = conn.Create(name, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	}
	return err
}

// keeps is a service whose instances have znodes of fixed names, and take what is there for their own, or replace it.
func keeps(replaces bool) service.Service {
	return service.Service{Registers: true, Start: func(ctx context.Context, i *service.Instance) error {
		conn, _, err := zk.Connect(i.Servers, 4*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			return err
		}
		defer conn.Close()
		name := fmt.Sprint("/", i.Number)
		_, err = conn.Create(name, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) && replaces {
			conn.Delete(name, -1)
			_, err = conn.Create(name, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		} else if errors.Is(err, zk.ErrNodeExists) {
			err = nil
		}
		if err != nil {
			return err
		}
		i.Ready()
		<-ctx.Done()
		return nil
	}}
}

// What a service at rest follows and has is judged: each mistake, which a published project made, is found.
func TestExactBrokenAtRest(t *testing.T) {
	busy := func(ctx context.Context, i *service.Instance) error {
		conn, _, err := zk.Connect(i.Servers, 4*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			return err
		}
		defer conn.Close()
		for ctx.Err() == nil {
			conn.Exists(app)
		}
		return nil
	}
	for name, test := range map[string]struct {
		of             service.Service
		property, says string
	}{
		"watches data":      {registry{onData: true}.service(service.Rejoins), "diverged", "the watch of its that is armed there has not told it"},
		"waits for nil":     {registry{nilWatch: true}.service(service.Rejoins), "deaf", "no watch of its is armed there"},
		"stays":             {registry{leaves: true, lasts: 3 * time.Second}.service(0), "orphan", "'s start, called at step "},
		"does not undo":     {joining(false), "orphan", "'s join, which made it, failed at step "},
		"takes the old one": {keeps(false), "missing", "no session of it has expired, and it has no ephemeral znode"},
		"goes on":           {registry{dies: true, withoutEnd: true}.service(service.Dies), "silent-end", "its start goes on, which was to return then"},
		"registers once":    {registry{onlyOnce: true}.service(service.Rejoins), "silent-end", "it has not made another one in its place"},
		"asks all the time": {service.Service{Start: busy}, "progress", " requests while no time passed and no operation began or ended, in start"},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.of.Workload()
			r, err := sim.Run(t.Context(), w, sim.Config{Episodes: 500, Seed: 1, Until: test.property, NoShrink: true, Faults: world.AllFaults})
			for _, f := range r.Violations {
				t.Log(f.Property, f.Message)
			}
			if !slices.ContainsFunc(r.Violations, func(f sim.Found) bool {
				return f.Property == test.property && strings.Contains(f.Message, test.says)
			}) {
				t.Errorf("no %s in %d episodes: %s %s %v", test.property, r.Episodes, r.Verdict, r.Reason, err)
			}
		})
	}
}

// The same without the mistake is clean, whatever strikes.
func TestExactCorrectAtRest(t *testing.T) {
	elector := electing(elect)
	elector.Follows, elector.Expiry = []string{root}, service.Rejoins
	for name, test := range map[string]struct {
		of     service.Service
		faults world.Faults
	}{
		"elector":  {elector, world.AllFaults &^ world.Wrap},
		"rejoins":  {registry{}.service(service.Rejoins), world.AllFaults},
		"dies":     {registry{dies: true}.service(service.Dies), world.AllFaults},
		"replaces": {keeps(true), world.AllFaults},
		"ends":     {registry{lasts: 3 * time.Second}.service(service.Rejoins), world.AllFaults},
		"undoes":   {joining(true), world.AllFaults},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.of.Workload()
			r, err := sim.Run(t.Context(), w, sim.Config{Episodes: testkit.Sized(100, 3000), Seed: 1, Faults: test.faults, NoShrink: true, Once: true})
			if err != nil || r.Verdict != sim.VerdictOK {
				t.Errorf("%s %s %v", r.Verdict, r.Reason, err)
			}
			for _, f := range r.Violations {
				t.Log(f.Story(w))
			}
		})
	}
}

// joining is a service whose instances take a place in an operation, which fails but in the first one; then undo takes it back.
// Something else of the instance makes an ephemeral znode at that time, which stays.
func joining(undo bool) service.Service {
	return service.Service{Undoes: true, Start: func(ctx context.Context, i *service.Instance) error {
		conn, _, err := zk.Connect(i.Servers, 4*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			return err
		}
		defer conn.Close()
		go register(conn)
		i.Do("join", "", func(context.Context) (string, error) {
			place := fmt.Sprintf("/place-%016x", rand.Uint64())
			_, err := conn.Create(place, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			if err == nil && i.Number > 0 {
				err = errors.New("all places are taken")
			}
			for left := err; undo && left != nil && !errors.Is(left, zk.ErrNoNode); left = conn.Delete(place, -1) {
				time.Sleep(time.Second)
			}
			return "", err
		})
		<-ctx.Done()
		return nil
	}}
}
