package output

import (
	"fmt"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/judges"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/story/index"
	"github.com/zktorture/zktorture/workload"
)

// ModelOf returns the model that a recipe's workload judges its histories by, or its judge. The error is for recipes judged by
// properties only, and for objects of unknown size.
func ModelOf(kind, recipe string) (index.Model, error) {
	if judges.Knows(kind) {
		check := func(h linearizability.History) []linearizability.Verdict { return judges.Check(kind, h, time.Minute) }
		return index.Model{Model: linearizability.Model{Name: kind}, Flags: "--model " + kind, Check: check}, nil
	}
	m, err := linearizabilityOf(kind, recipe)
	if err == nil && m.Name == "" {
		err = fmt.Errorf("histories of %s have no model", kind)
	}
	return index.Model{Model: m, Flags: modelFlags(m)}, err
}

func linearizabilityOf(kind, recipe string) (m linearizability.Model, err error) {
	if w, err := worker.Find(kind, recipe); err == nil {
		m, _ = w.Model()
		return m, nil
	}
	k, err := workload.KindNamed(kind)
	if err != nil {
		return m, err
	}
	if k.Model.Parameters != (linearizability.Parameters{}) {
		return m, fmt.Errorf("the number of parties or permits of the %s %s is not known", kind, recipe)
	}
	return k.Model, nil
}

// modelFlags are the flags of torture check that select a model.
func modelFlags(m linearizability.Model) string {
	flags := "--model " + m.Name
	if m.Parameters.Parties > 0 {
		flags += fmt.Sprintf(" --parties %d", m.Parameters.Parties)
	}
	if m.Parameters.Permits > 0 {
		flags += fmt.Sprintf(" --permits %d", m.Parameters.Permits)
	}
	return flags
}
