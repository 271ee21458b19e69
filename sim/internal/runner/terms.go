package runner

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/world"
)

// Terms are what the episodes of a campaign have in common.
type Terms struct {
	Faults  world.Faults // what may strike
	Clients int          // the most clients of an episode; default 3
	Ops     int          // the most operations of a user; default 4
}

// StepsMax bounds the steps of a torture phase; episodes rarely take a quarter of it.
const StepsMax = 400

// ErrTerms is the error of what cannot be run as asked for.
var ErrTerms = errors.New("sim: cannot run")

// WithDefaults returns the terms with their defaults, and an error for those that cannot be.
func (t Terms) WithDefaults() (Terms, error) {
	t.Clients, t.Ops = cmp.Or(t.Clients, 3), cmp.Or(t.Ops, 4)
	if t.Clients < 1 || t.Clients > world.ClientsMax || t.Ops < 1 || t.Ops > world.OpsMax {
		return t, fmt.Errorf("%w: %d clients with %d operations: 1 to %d and 1 to %d are possible",
			ErrTerms, t.Clients, t.Ops, world.ClientsMax, world.OpsMax)
	}
	return t, nil
}

// Episode is one episode, with its choices from a source.
func (t Terms) Episode(source world.Source) *Episode {
	return &Episode{
		Settings: world.Settings{Source: source, Faults: t.Faults, Clients: t.Clients, Ops: t.Ops, StepsMax: StepsMax},
		Dog:      &Watchdog{}, Exact: bubble.Exact,
	}
}
