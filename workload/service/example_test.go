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
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload/service"
)

// electing is the service under test, by what runs an instance.
func electing(run func(ctx context.Context, servers []string, tells func(leads bool)) error) service.Service {
	return service.Service{
		Start: func(ctx context.Context, i *service.Instance) error {
			return run(ctx, i.Servers, func(leads bool) { i.Declare("leader", leads) })
		},
		Required: []string{"leader"},
	}
}

// In exact mode the elector is tortured as it is: it prints "ok <nil>". An ordinary build says that it takes exact mode.
func ExampleService() {
	r, err := sim.Run(context.Background(), electing(elect).Workload(), sim.Config{Episodes: 100, Seed: 1})
	fmt.Println(r.Verdict, err)
}

// elector is a service of which one instance leads: that with the first of the ephemeral znodes below root.
type elector struct {
	conn  *zk.Conn
	id    string
	tells func(leads bool)
	rank  func(name string) string

	refreshing sync.Mutex // is held across calls to ZooKeeper

	mu    sync.Mutex
	epoch int // how often it has been told that it may not lead any more
}

const root = "/elector"

// elect runs an instance.
func elect(ctx context.Context, servers []string, tells func(leads bool)) error {
	return electBy(ctx, servers, tells, func(name string) string { return name[strings.LastIndex(name, "-"):] })
}

// electBy is elect; rank is by what the znodes are ordered.
func electBy(ctx context.Context, servers []string, tells func(leads bool), rank func(name string) string) error {
	conn, events, err := zk.Connect(servers, 4*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		return err
	}
	defer conn.Close()
	e := &elector{conn: conn, id: fmt.Sprintf("%016x-", rand.Uint64()), tells: tells, rank: rank}
	defer e.doubt()
	changed := make(chan struct{}, 1)
	go func() {
		for event := range events {
			if event.Type == zk.EventSession && event.State != zk.StateHasSession {
				e.doubt()
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		go e.refresh()
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// doubt ends its lead until it has looked again.
func (e *elector) doubt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.epoch++
	e.tells(false)
}

// leads says whether it leads, as it was in an epoch.
func (e *elector) leads(leads bool, epoch int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.epoch == epoch {
		e.tells(leads)
	}
}

// refresh looks who leads.
func (e *elector) refresh() {
	if !e.refreshing.TryLock() {
		return
	}
	defer e.refreshing.Unlock()
	e.mu.Lock()
	epoch := e.epoch
	e.mu.Unlock()
	all, err := e.candidates()
	if err == nil && !slices.ContainsFunc(all, e.isOwn) {
		e.leads(false, epoch)
		if _, err = e.conn.Sync(root); err == nil { // the server may be behind
			all, err = e.candidates()
		}
		if err == nil && !slices.ContainsFunc(all, e.isOwn) {
			e.conn.Create(root+"/"+e.id, nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			all, err = e.candidates()
		}
	}
	if err == nil {
		e.leads(len(all) > 0 && e.isOwn(all[0]), epoch)
	}
}

func (e *elector) isOwn(name string) bool { return strings.HasPrefix(name, e.id) }

// candidates are the znodes of all instances, the first of which leads.
func (e *elector) candidates() ([]string, error) {
	all, _, _, err := e.conn.ChildrenW(root)
	if errors.Is(err, zk.ErrNoNode) {
		e.conn.Create(root, nil, 0, zk.WorldACL(zk.PermAll))
		all, _, _, err = e.conn.ChildrenW(root)
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(e.rank(a), e.rank(b)) })
	return all, err
}
