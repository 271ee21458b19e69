package operators

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story/index"
)

// quantiles are those that a threshold may name.
var quantiles = map[string]float64{"p50": .5, "p99": .99, "max": 1}

// limit is one value of --threshold.
type limit struct {
	operation string // "": each
	quantile  string
	most      time.Duration
}

// thresholds implements the flag.
func thresholds(given []string) (judge func(dir string) ([]output.Threshold, error), err error) {
	limits := make([]limit, len(given))
	for i, text := range given {
		if limits[i], err = parseLimit(text); err != nil {
			return nil, err
		}
	}
	return func(dir string) ([]output.Threshold, error) {
		begin, err := index.ReadBegin(dir)
		if err != nil {
			return nil, err
		}
		return Read(dir, begin).keeps(limits), nil
	}, nil
}

func parseLimit(text string) (l limit, err error) {
	what, most, _ := strings.Cut(text, "=")
	operation, quantile, of := strings.Cut(what, ":")
	if !of {
		operation, quantile = "", what
	}
	d, err := time.ParseDuration(most)
	if quantiles[quantile] == 0 || of && operation == "" || err != nil || d <= 0 {
		return l, fmt.Errorf("%.60q is none: write p50, p99 or max and a time, as in p99=200ms, or for one operation release:max=1s", text)
	}
	return limit{operation, quantile, d}, nil
}

// undisturbed are how long operations took, by name, that were answered before a fault struck in their round, and while all
// servers were well. What comes later in a round may wait for who was struck.
func (r *Run) undisturbed() map[string][]int64 {
	struck := map[int]int64{} // when the first fault of a round did; of -1, which is any round, the first of all
	for _, s := range r.Strikes {
		for _, round := range []int{-1, s.Round} {
			struck[round] = min(cmp.Or(struck[round], s.At), s.At)
		}
	}
	took, bands := map[string][]int64{}, r.bands()
	for _, o := range r.operations {
		first, disturbed := struck[o.round]
		if o.answered && !(disturbed && first <= o.end) && !(span{o.call, o.end}).within(bands) {
			took[o.name] = append(took[o.name], o.end-o.call)
		}
	}
	for _, d := range took {
		slices.Sort(d)
	}
	return took
}

// keeps judges a run by limits: of each operation, in order.
func (r *Run) keeps(limits []limit) (all []output.Threshold) {
	took := r.undisturbed()
	for _, l := range limits {
		names := slices.Sorted(maps.Keys(took))
		if l.operation != "" {
			names = []string{l.operation}
		} else if len(names) == 0 {
			names = []string{"any operation"}
		}
		for _, name := range names {
			t := output.Threshold{Operation: name, Quantile: l.quantile, Limit: l.most.Seconds(), Count: len(took[name]), Verdict: sim.VerdictUnknown}
			if t.Count > 0 {
				t.Took, t.Verdict = float64(quantile(took[name], quantiles[l.quantile]))/1e9, sim.VerdictOK
			}
			if t.Took > t.Limit {
				t.Verdict = sim.VerdictViolation
			}
			all = append(all, t)
		}
	}
	return all
}

// broken lists the thresholds that were exceeded.
func (r *result) broken() (broken []string) {
	for _, t := range r.Thresholds {
		if t.Verdict == sim.VerdictViolation {
			broken = append(broken, fmt.Sprintf("%s took %s (%s) and may take %s", t.Operation, secsTook(t.Took), t.Quantile, secsTook(t.Limit)))
		}
	}
	return broken
}

// secsTook has more digits than took: what took a little more than it may is not said to take the same.
func secsTook(seconds float64) string {
	return spaced(time.Duration(seconds * 1e9).Round(10 * time.Microsecond))
}
