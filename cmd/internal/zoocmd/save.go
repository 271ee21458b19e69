package zoocmd

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/zoo"
)

// save writes a file for each animal that was found, if it is to.
func (z *ZooCmd) save(catches []zoo.Catch) (trouble error) {
	for _, catch := range catches {
		if z.Out == "" || catch.Found == nil {
			continue
		}
		if err := saveCatch(z.Out, catch); err != nil {
			trouble = errors.Join(trouble, fmt.Errorf("--out: the counterexample of %s was not written: %w", catch.Animal.ID, err))
		}
	}
	return trouble
}

func saveCatch(dir string, catch zoo.Catch) error {
	example, err := exampleOf(catch.Animal, *catch.Found)
	if err != nil {
		return err
	}
	var data bytes.Buffer
	if err := example.Write(&data); err != nil {
		return err
	}
	return console.WriteNew(filepath.Join(dir, catch.Animal.ID+".json"), data.Bytes())
}

// exampleOf makes a counterexample of an animal's violation.
func exampleOf(a zoo.Animal, found sim.Found) (*sim.Counterexample, error) {
	w := a.Broken()
	cfg := sim.Config{NoFaultsAtAll: true, Clients: a.Clients, Faults: a.Faults()}
	return cfg.Counterexample(sim.Result{Workload: w.Name(), Recipe: w.Recipe()}, found)
}
