package main

import (
	"context"
	"errors"
	"os"
	"runtime"
)

// fileRuns is how often each file is judged: of what the clock says the least counts, as others use the machine too.
const fileRuns = 9

// measureFiles judges a million operations from a file with the command, on all cores.
func measureFiles(ctx context.Context) (any, error) {
	j, err := newJudging(ctx)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(j.dir)
	j.cores = runtime.NumCPU()
	var all []named
	for _, h := range wholeHistories {
		c, err := j.fastest(h)
		if err != nil {
			return nil, err
		}
		all = append(all, named{h.what, c})
		j.keep(c.Verdict == h.verdict(), "%s: %s", h.what, c.output)
	}
	return facts{"Operations": checkOperations, "Clients": checkClients, "Cores": j.cores, "Runs": fileRuns,
		"Checks": all}, errors.Join(j.problems...)
}

// fastest judges a history several times.
func (j *judging) fastest(h wholeHistory) (best checked, err error) {
	file, err := j.history(h)
	if err != nil {
		return best, err
	}
	for i := range fileRuns {
		c, err := j.check(nil, file, "--model", h.Model)
		if err != nil {
			return best, err
		}
		if i == 0 || c.Wall < best.Wall {
			best = c
		}
	}
	return best, nil
}
