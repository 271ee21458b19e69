package torturecli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
)

// disputed saves the disagreements of a run.
func (o *output) disputed(c *commandContext, r sim.Result) error {
	inputs := map[string]linearizability.History{}
	for checker, input := range r.Disputed {
		var h linearizability.History
		if err := json.Unmarshal(input, &h); err != nil {
			return fmt.Errorf("what %s was given: %w", checker, err)
		}
		inputs[checker] = h
	}
	return saveDisputed(c, o.dir, r.Workload+"-"+r.Recipe, inputs)
}

// disputed saves the disagreements of a judged history.
func (k *checkCmd) disputed(c *commandContext, j judged) error {
	for _, v := range j.verdicts {
		if !v.Disputed() {
			continue
		}
		others := func(op linearizability.Operation) bool { return op.Object != v.Object }
		whole := slices.DeleteFunc(slices.Clone(j.history), others) // as far as it was kept
		inputs := map[string]linearizability.History{"monitor": whole, "porcupine": v.Operations}
		if err := saveDisputed(c, counterexamplesDir, k.Model+"-"+v.Object, inputs); err != nil {
			return err
		}
	}
	return nil
}

// saveDisputed writes the inputs of checkers that disagree to files in dir whose names begin with name, and prints
// their names. A disagreement is a defect of this program; both inputs are needed to fix it.
func saveDisputed(c *commandContext, dir, name string, inputs map[string]linearizability.History) error {
	for _, checker := range slices.Sorted(maps.Keys(inputs)) {
		var data bytes.Buffer
		if err := linearizability.Write(&data, inputs[checker]); err != nil {
			return err
		}
		sum := sha256.Sum256(data.Bytes())
		file := filepath.Join(dir, fmt.Sprintf("%s-disagreement-%s-%x.jsonl", strings.Trim(flat(name), "-"),
			checker, sum[:4]))
		if err := writeNew(file, data.Bytes()); err != nil {
			return err
		}
		fmt.Fprintf(c.err, "the checkers disagree; the input of %s is in %s\n", checker, file)
	}
	return nil
}
