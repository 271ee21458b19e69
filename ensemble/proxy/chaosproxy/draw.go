package chaosproxy

import (
	"slices"

	"github.com/zktorture/zktorture/wire/strike"
)

// ways are the ways of the faults that a proxy can bring about. Their order is a part of what a seed means.
var ways = slices.Insert(slices.Clone(strike.Everywhere), 3, strike.Way{Fault: strike.Loss, Variant: "half"})

// Faults are the faults that there are.
var Faults = []strike.Fault{strike.Loss, strike.Hold, strike.Refuse, strike.Stall, strike.Watch, strike.Expiry}
