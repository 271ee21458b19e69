package sim_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// hastyLock is held by whoever made the znode; the others watch it. It does not look whether the znode is still there.
type hastyLock struct {
	conn recipes.Conn
	path string
}

func (l *hastyLock) Lock(ctx context.Context) error {
	for {
		_, err := l.conn.Create(l.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
		_, _, gone, err := l.conn.ExistsW(l.path)
		if err != nil {
			return err
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *hastyLock) Unlock(context.Context) error { return l.conn.Delete(l.path, -1) }

// A thousand episodes without any fault: what breaks is found, minimised and told.
func ExampleRun() {
	lock := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return &hastyLock{c, path} })
	result, err := sim.Run(context.Background(), lock, sim.Config{Episodes: 1000, Seed: 1, NoFaultsAtAll: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Verdict, "after", result.Episodes, "episodes")
	for _, found := range result.Violations {
		fmt.Print(found.Story(lock))
	}
	// Output:
	// violation after 1000 episodes
	// sim_test.hastyLock: c2 waits forever in acquire: it watches /t/lock, which does not exist; it has no znode in the queue (progress)
	//
	//     0    0.000s  c1  > acquire()
	//     0    0.000s  c2  > acquire()
	//     1    0.000s  c1  create       /t/lock  ok
	//     1    0.000s  c1  < acquire()  ok: 0
	//     2    0.000s  c2  create       /t/lock  zk: node already exists
	//     3    0.000s  c1  write        accepted with token 0
	//     3    0.000s  c1  > release()
	//     4    0.000s  c1  delete       /t/lock  ok
	//     4    0.000s  c1  < release()  ok
	//     5    0.000s  c2  exists+watch /t/lock  zk: node does not exist
}
