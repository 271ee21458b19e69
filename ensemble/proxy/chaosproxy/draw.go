package chaosproxy

import "github.com/zktorture/zktorture/wire/strike"

// ways are the ways of the faults that a proxy can bring about.
var ways = []strike.Way{
	{Fault: strike.Loss, Variant: "before"},
	{Fault: strike.Loss, Variant: "after"},
	{Fault: strike.Loss, Variant: "idle"},
	{Fault: strike.Loss, Variant: "half"},
	{Fault: strike.Loss, Variant: "deaf"},
	{Fault: strike.Hold, Variant: "short", Least: 0.05, Most: 0.8},
	{Fault: strike.Hold, Variant: "long", Least: 1.2, Most: 2},
	{Fault: strike.Refuse, Least: 0.1, Most: 1.5},
	{Fault: strike.Stall, Least: 0.1, Most: 1.5},
	{Fault: strike.Watch, Variant: "held", Least: 0.05, Most: 0.8},
	{Fault: strike.Watch, Variant: "lost"},
	{Fault: strike.Expiry, Variant: "before"},
	{Fault: strike.Expiry, Variant: "after"},
}

// Faults are the faults that there are.
var Faults = []strike.Fault{strike.Loss, strike.Hold, strike.Refuse, strike.Stall, strike.Watch, strike.Expiry}
