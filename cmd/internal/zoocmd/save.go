package zoocmd

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/zoo"
)

// save writes a file for each bug that was found, if it is to.
func (z *ZooCmd) save(catches []zoo.Catch) (trouble error) {
	for _, catch := range catches {
		if z.Out == "" || catch.Found == nil {
			continue
		}
		if err := saveCatch(z.Out, catch); err != nil {
			trouble = errors.Join(trouble, fmt.Errorf("--out: the counterexample of %s was not written: %w", catch.Bug.ID, err))
		}
	}
	return trouble
}

func saveCatch(dir string, catch zoo.Catch) error {
	example, err := catch.Counterexample()
	if err != nil {
		return err
	}
	var data bytes.Buffer
	if err := example.Write(&data); err != nil {
		return err
	}
	return console.WriteNew(filepath.Join(dir, catch.Bug.ID+".json"), data.Bytes())
}
