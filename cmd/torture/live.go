package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/ensemble"
	"github.com/zktorture/zktorture/workload"
)

// onEnsemble runs on real servers that are started for it, and stopped.
func (r *runCmd) onEnsemble(c *commandContext, w *workload.Workload, out *output) error {
	e, err := ensemble.Start(c, ensemble.Options{Nodes: r.Nodes})
	if err != nil {
		return err
	}
	defer e.Stop()
	r.Root = "/zktorture"
	return r.onServers(c, w, out, e.ConnectString(), "")
}

// onLive runs on servers of the user's.
func (r *runCmd) onLive(c *commandContext, w *workload.Workload, out *output) error {
	addresses, chroot, err := ensemble.ParseServers(r.Servers)
	if err != nil {
		return err
	}
	if r.Root == "" {
		r.Root = fmt.Sprintf("/zktorture-%d-%d", os.Getpid(), time.Now().UnixNano())
	}
	return r.onServers(c, w, out, joinServers(addresses), chroot)
}

func joinServers(addresses []string) string {
	text := ""
	for i, a := range addresses {
		if i > 0 {
			text += ","
		}
		text += a
	}
	return text
}

// Session timeouts on real servers, and how long to wait for the first session.
const (
	liveSession = 2 * time.Second
	liveConnect = 10 * time.Second
)

func (r *runCmd) onServers(c *commandContext, w *workload.Workload, out *output, servers, chroot string) error {
	history, err := out.history()
	if err != nil {
		return err
	}
	defer history.Close()
	bar := newBar(c, r.JSON, r.Episodes, max(r.Duration, 30*time.Second))
	result, err := w.RunLive(c, workload.LiveConfig{
		Open: func(ctx context.Context) (*workload.Session, error) { return openSession(ctx, servers) },
		Root: chroot + r.Root, Seed: *r.Seed, Rounds: r.Episodes, Duration: r.Duration,
		Clients: r.Clients, Ops: r.Ops, History: history, Progress: out.progress(bar),
	})
	bar.clear()
	if err != nil {
		return err
	}
	files, err := out.histories(result)
	if err != nil {
		return err
	}
	return r.report(c, w, out, result, files, nil)
}

// openSession opens a session and waits for it.
func openSession(ctx context.Context, servers string) (*workload.Session, error) {
	var told, broken atomic.Int64
	conn, err := ensemble.ClientConfig{Servers: servers, SessionTimeout: liveSession, OnEvent: func(e zk.Event) {
		switch {
		case e.Type == zk.EventSession && e.State == zk.StateExpired:
			told.Add(1)
		case e.Type == zk.EventSession && e.State == zk.StateDisconnected:
			broken.Add(1)
		}
	}}.Connect()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, liveConnect)
	defer cancel()
	if err := conn.WaitSession(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return &workload.Session{
		Conn: conn, Close: conn.Close,
		Told:   func() int { return int(told.Load()) },
		Broken: func() int { return int(broken.Load()) },
	}, nil
}
