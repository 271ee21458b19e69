package runner

import (
	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// exactWorlds has the tape when no exact world runs. Worlds of one process share mutexes, such as those of sync.Pool, and
// would decide each other's turns.
var exactWorlds = make(chan *bubble.Tape, 1)

func init() {
	if bubble.Exact {
		exactWorlds <- bubble.NewTape()
	}
}

// enter waits until no other exact world runs.
func (d *Watchdog) enter(exact bool) {
	if bubble.Exact && exact {
		d.tape.Store(<-exactWorlds)
	}
}

// leave lets the next exact world run.
func (d *Watchdog) leave() {
	if t := d.tape.Swap(nil); t != nil {
		exactWorlds <- t
	}
}

// abandon is leave for a world that stands still: it may still use its tape.
func (d *Watchdog) abandon() {
	if d.tape.Swap(nil) != nil {
		exactWorlds <- bubble.NewTape()
	}
}
