package runner

import (
	"slices"

	"github.com/zktorture/zktorture/sim/world"
)

// Episode is how one episode is run.
type Episode struct {
	world.Settings
	Dog   *Watchdog // sees from outside whether the world turns
	Label string    // what a panic that ends the process says of the episode; "" for nothing
	Exact bool      // what the runtime decides is drawn too; only in exact builds
}

// Run runs one episode. If its world freezes it never returns, which the watchdog notices.
func Run(workload world.Workload, cfg *Episode) *world.Run {
	cfg.Dog.enter(cfg.Exact)
	cfg.Dog.start()
	defer label(cfg.Label)()
	with := cfg.Settings
	with.Tape = cfg.Dog.tape.Load()
	with.Observers = append(slices.Clip(with.Observers), cfg.Dog)
	o := world.Play(workload, &with)
	cfg.Dog.leave()
	cfg.Dog.stop() // what follows takes its time, and has limits of its own
	o.Conclude(workload)
	return o
}
