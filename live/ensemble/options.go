package ensemble

import (
	"cmp"
	"fmt"
	"time"
)

// Options say what ensemble to start. The zero value of each field means its default.
type Options struct {
	// Nodes is how many servers: 1, 3 or 5. Default 1.
	Nodes int

	// Tick is ZooKeeper's tickTime, in whole milliseconds, 10 ms to 1 minute. Default 100 ms.
	// Session timeouts lie between 2 and 20 ticks.
	Tick time.Duration

	// SyncLimit is how many ticks of silence drop a follower, or have a leader step down. Default 10.
	SyncLimit int

	// StartTimeout is how long the servers, or one after a restart, may take until they serve. Default 5 min, for
	// busy machines: a server that has ended is not waited for.
	StartTimeout time.Duration

	// JVM are more arguments for Java, for example "-Dznode.container.checkIntervalMs=100".
	JVM []string

	// Config are more lines of each server's zoo.cfg, for example "reconfigEnabled=true".
	Config []string

	// Log, if set, is called with what is done to the servers. It may be called from several goroutines.
	Log func(format string, args ...any)

	freePorts func(n int) ([]claim, error) // tests replace it
}

func (o Options) withDefaults() (Options, error) {
	o.Nodes, o.SyncLimit = cmp.Or(o.Nodes, 1), cmp.Or(o.SyncLimit, 10)
	o.Tick, o.StartTimeout = cmp.Or(o.Tick, 100*time.Millisecond), cmp.Or(o.StartTimeout, 5*time.Minute)
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.freePorts == nil {
		o.freePorts = freePorts
	}
	return o, o.validate()
}

func (o Options) validate() error {
	switch {
	case o.Nodes != 1 && o.Nodes != 3 && o.Nodes != 5:
		return fmt.Errorf("ensemble: Nodes is %d: it must be 1, 3 or 5 "+
			"(an even number survives no more failures than the odd one below it)", o.Nodes)
	case o.Tick < 10*time.Millisecond || o.Tick > time.Minute || o.Tick%time.Millisecond != 0:
		return fmt.Errorf("ensemble: Tick is %v: it must be whole milliseconds between 10ms and 1m", o.Tick)
	case o.SyncLimit < 1:
		return fmt.Errorf("ensemble: SyncLimit is %d: it must be at least 1 tick", o.SyncLimit)
	case o.StartTimeout < 0:
		return fmt.Errorf("ensemble: StartTimeout is %v: it must not be negative", o.StartTimeout)
	}
	return nil
}
