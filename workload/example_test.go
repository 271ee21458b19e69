package workload_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// hastyCounter reads a number and writes the sum, whatever was written in between.
type hastyCounter struct {
	conn recipes.Conn
	path string
}

func (c *hastyCounter) Get(context.Context) (int64, error) {
	data, _, err := c.conn.Get(c.path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return 0, err
	}
	number, _ := strconv.ParseInt(string(data), 10, 64) // 0 at first
	return number, nil
}

func (c *hastyCounter) Add(ctx context.Context, delta int64) (int64, error) {
	number, err := c.Get(ctx)
	if err != nil {
		return 0, err
	}
	sum := strconv.FormatInt(number+delta, 10)
	_, err = c.conn.Set(c.path, []byte(sum), -1)
	if errors.Is(err, zk.ErrNoNode) {
		_, err = c.conn.Create(c.path, []byte(sum), 0, zk.WorldACL(zk.PermAll))
	}
	return number + delta, err
}

// A recipe of one's own becomes a workload, which package sim runs: here without faults, until something breaks.
func ExampleCounter() {
	counter := workload.Counter(func(c recipes.Conn, path string) workload.Adder { return &hastyCounter{c, path} })
	result, err := sim.Run(context.Background(), counter,
		sim.Config{Seed: 1, NoFaultsAtAll: true, Until: "lost-update"})
	if err != nil {
		log.Fatal(err)
	}
	for _, found := range result.Violations {
		fmt.Println(found.Story(counter))
	}
	// Output:
	// workload_test.hastyCounter: an addition did not last: c1's add(1) at steps 0 to 5 returned 1, c2's add(1) at steps 0 to 4 returned 1 (lost-update)
	//
	//     0    0.000s  c1  > add(1)
	//     0    0.000s  c2  > add(1)
	//     1    0.000s  c1  get          /t/counter  zk: node does not exist
	//     2    0.000s  c2  get          /t/counter  zk: node does not exist
	//     3    0.000s  c2  set          /t/counter  zk: node does not exist
	//     4    0.000s  c2  create       /t/counter  ok
	//     4    0.000s  c2  < add(1)     ok: 1
	//     5    0.000s  c1  set          /t/counter  ok
	//     5    0.000s  c1  < add(1)     ok: 1
	//     6   10.000s  c1  alone        all other users are done
	//     6   10.000s  c1  > get()
	//     7   10.000s  c1  get          /t/counter  "1"
	//     7   10.000s  c1  < get()      ok: 1
}
