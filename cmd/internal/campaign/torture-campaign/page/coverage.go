package page

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/sim"
)

// matrix says at how many of the placements that were offered faults have struck, by the operation and the fault, over
// all jobs that are not of the zoo.
type matrix struct {
	Faults []string    `json:"faults"`
	Rows   []matrixRow `json:"rows"`
}

// matrixRow is an operation of a kind of recipes.
type matrixRow struct {
	Kind      string       `json:"kind"`
	Operation string       `json:"operation"`
	Cells     []matrixCell `json:"cells"` // of each fault
}

// matrixCell counts placements.
type matrixCell struct {
	Struck  int `json:"struck"`
	Offered int `json:"offered"`
}

// Percent is the share that was struck; rounded, but 0 and 100 are none and all.
func (c matrixCell) Percent() int {
	share := (200*c.Struck + c.Offered) / max(2*c.Offered, 1)
	switch {
	case c.Struck > 0 && share == 0:
		return 1
	case c.Struck < c.Offered && share == 100:
		return 99
	}
	return share
}

// Tenth is the share in tenths, for its colour.
func (c matrixCell) Tenth() int { return c.Percent() / 10 }

// matrixOf sums up the coverage of jobs.
func matrixOf(jobs func(yield func(campaign.Job, *sim.Coverage) bool)) matrix {
	type place struct{ kind, operation string }
	sums, faults := map[place]map[string]matrixCell{}, map[string]bool{}
	for job, coverage := range jobs {
		if coverage == nil || job.Animal != "" {
			continue
		}
		for operation, of := range coverage.Operations {
			at := place{escape.Text(job.Kind), cmp.Or(escape.Text(operation), "between operations")}
			if sums[at] == nil {
				sums[at] = map[string]matrixCell{}
			}
			for fault, f := range of {
				c := sums[at][fault]
				sums[at][fault], faults[fault] = matrixCell{c.Struck + f.Struck, c.Offered + f.Offered}, true
			}
		}
	}
	m := matrix{Faults: filled(slices.Sorted(maps.Keys(faults))), Rows: []matrixRow{}}
	places := slices.SortedFunc(maps.Keys(sums), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.operation, b.operation))
	})
	for _, at := range places {
		row := matrixRow{Kind: at.kind, Operation: at.operation}
		for _, fault := range m.Faults {
			row.Cells = append(row.Cells, sums[at][fault])
		}
		m.Rows = append(m.Rows, row)
	}
	for i, fault := range m.Faults {
		m.Faults[i] = escape.Text(fault)
	}
	return m
}
