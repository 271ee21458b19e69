// Command worker serves a recipe of another project to the runner, see docs/workers.md. The assignment has the kind,
// the argument the name:
//
//	go build -C zoo/foreign -o ../../out/worker ./worker
//	torture live lock --start 3 --recipe 'exec:out/worker go-zookeeper'
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/zoo/foreign"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: worker RECIPE, the name of one in package foreign")
		os.Exit(2)
	}
	if err := worker.Serve(context.Background(), os.Stdin, os.Stdout, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// open opens a session and serves the recipe in it.
func open(ctx context.Context, a worker.Assignment, tell func(worker.State)) (*worker.Host, error) {
	recipe, found := foreign.Find(a.Kind, os.Args[1])
	if !found {
		return nil, fmt.Errorf("there is no recipe %s of kind %s in package foreign", os.Args[1], a.Kind)
	}
	timeout := time.Duration(a.TimeoutMS) * time.Millisecond
	client, err := recipe.Connect(ctx, strings.Split(a.Servers, ","), timeout, func(s zk.State) { tellOf(s, tell) })
	if err != nil {
		return nil, err
	}
	return worker.NewHost(a.Kind, client.Make, client.Session, client.Close)
}

func tellOf(state zk.State, tell func(worker.State)) {
	states := map[zk.State]worker.State{
		zk.StateHasSession: worker.Connected, zk.StateDisconnected: worker.Suspended, zk.StateExpired: worker.Lost,
	}
	if s, of := states[state]; of {
		tell(s)
	}
}
