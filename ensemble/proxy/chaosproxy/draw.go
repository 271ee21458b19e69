package chaosproxy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// variant is a variant of a fault. If it lasts, it lasts for a share of the session timeout between least and most.
type variant struct {
	fault, name string
	least, most float64
}

var variants = []variant{
	{fault: "loss", name: "before"}, {fault: "loss", name: "after"}, {fault: "loss", name: "idle"},
	{fault: "loss", name: "half"}, {fault: "loss", name: "deaf"},
	{"hold", "short", 0.05, 0.8}, {"hold", "long", 1.2, 2},
	{"refuse", "", 0.1, 1.5},
	{"stall", "", 0.1, 1.5},
	{"watch", "held", 0.05, 0.8}, {fault: "watch", name: "lost"},
	{fault: "expiry", name: "before"}, {fault: "expiry", name: "after"},
}

// Names are the faults that there are.
var Names = []string{"loss", "hold", "refuse", "stall", "watch", "expiry"}

// ParseFaults parses names with commas between them, "all" or "none".
func ParseFaults(list string) ([]string, error) {
	switch list {
	case "all":
		return Names, nil
	case "none":
		return nil, nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(Names, name) {
			return nil, fmt.Errorf("unknown fault %q: there are %s, all and none", name, strings.Join(Names, ", "))
		}
	}
	return names, nil
}

// Odds are how often a request draws a fault. One of the two must be above zero.
type Odds struct {
	Every int // one request in Every draws a fault, on average
	// PerMinute faults a minute are drawn for each client, on average, however many requests it makes; they strike at
	// requests, so a client that makes none draws none.
	PerMinute float64
}

func (o Odds) validate() error {
	if o.Every < 0 || o.PerMinute < 0 || math.IsNaN(o.PerMinute) || (o.Every > 0) == (o.PerMinute > 0) {
		return fmt.Errorf("chaosproxy: the odds are one in %d requests and %g a minute: "+
			"one of the two must be above 0, and the other 0", o.Every, o.PerMinute)
	}
	return nil
}

// chance is the probability that a request draws a fault, by the time since the one before. Faults by the minute are
// a Poisson process: it is the probability of at least one in that time.
func (o Odds) chance(gap time.Duration) float64 {
	if o.Every > 0 {
		return 1 / float64(o.Every)
	}
	return -math.Expm1(-o.PerMinute * gap.Minutes())
}

// drawn is what a request has drawn.
type drawn struct {
	variant
	share float64 // of the session's timeout
}

// draw returns what a request draws; false for nothing.
func (cfg *Config) draw(client, request int, gap time.Duration) (drawn, bool) {
	if len(cfg.Faults) == 0 {
		return drawn{}, false
	}
	r := rand.New(rand.NewPCG(cfg.Seed, uint64(client)<<32^uint64(request)))
	if r.Float64() >= cfg.Odds.chance(gap) {
		return drawn{}, false
	}
	fault := cfg.Faults[r.IntN(len(cfg.Faults))]
	ways := slices.DeleteFunc(slices.Clone(variants), func(v variant) bool { return v.fault != fault })
	way := ways[r.IntN(len(ways))]
	return drawn{way, way.least + r.Float64()*(way.most-way.least)}, true
}
