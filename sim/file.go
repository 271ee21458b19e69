package sim

import (
	"encoding/json"
	"fmt"
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/replay"
)

// Counterexample makes the file of a violation that a campaign found.
func (cfg Config) Counterexample(r Result, f Found) (*replay.Counterexample, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return nil, err
	}
	history, err := json.Marshal(f.History)
	if err != nil {
		return nil, fmt.Errorf("sim: the history of the counterexample: %w", err)
	}
	return &replay.Counterexample{
		Format: replay.CounterexampleFormat, Workload: r.Workload, Recipe: r.Recipe,
		Faults: cfg.terms(f.Episode).Faults.String(), Clients: cfg.Clients, Ops: cfg.Ops, Exact: bubble.Exact,
		Property: f.Property, Message: f.Message, Hash: digest.Hex(f.Hash),
		Choices: f.Choices, Trace: replay.Lines(f.Trace), History: history, Divergence: f.Divergence, Wire: r.Wire,
		Unfinished: f.Unfinished,
	}, nil
}
