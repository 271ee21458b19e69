package index

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/zktorture/zktorture/linearizability/histories"
)

// BeginName is the file in which a run describes itself at its start.
const BeginName = "run.json"

// BeginFormat is the format of such a file.
const BeginFormat = "zktorture run 1"

// Begin describes a run. It is written before the run does anything, so that the history of a killed run can be
// judged. It holds only what is given or drawn at the start.
type Begin struct {
	Format   string  `json:"format"` // BeginFormat
	Workload string  `json:"workload"`
	Recipe   string  `json:"recipe"`
	Backend  string  `json:"backend"`
	Strategy string  `json:"strategy"`
	Seed     uint64  `json:"seed"`
	Faults   string  `json:"faults"` // allowed faults, in the format of --faults
	Plan     string  `json:"plan,omitempty"`
	Clients  int     `json:"clients"`
	Ops      int     `json:"ops"`
	Nodes    int     `json:"nodes,omitempty"`
	Episodes int     `json:"episodes,omitempty"`   // 0: limited by time
	Duration float64 `json:"duration_s,omitempty"` // seconds; 0: the default
}

// WriteBegin writes b into the folder of a run, where the file must not exist yet.
func WriteBegin(dir string, b Begin) error {
	b.Format = BeginFormat
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, BeginName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	return cmp.Or(err, file.Close())
}

// ReadBegin reads the description of the run in a folder.
func ReadBegin(dir string) (Begin, error) {
	data, err := os.ReadFile(filepath.Join(dir, BeginName))
	if errors.Is(err, os.ErrNotExist) {
		return Begin{}, fmt.Errorf("it is not the folder of a run, or the run was killed before it began: "+
			"there is no %s in it", BeginName)
	} else if err != nil {
		return Begin{}, err
	}
	var b Begin
	if err := json.Unmarshal(data, &b); err != nil {
		return Begin{}, fmt.Errorf("%s: it is not JSON, or cut off because the run was killed before it began: %w",
			BeginName, err)
	}
	if b.Format != BeginFormat {
		return Begin{}, fmt.Errorf("%s: the format is %.40q, and this version reads %q", BeginName, b.Format, BeginFormat)
	}
	return b, nil
}

// begun lists a run that has begun.
func (b *builder) begun(data json.RawMessage, name string) error {
	var begin Begin
	if err := json.Unmarshal(data, &begin); err != nil {
		return err
	}
	b.begins[path.Dir(name)] = begin
	return nil
}

// WholeRounds returns the complete rounds of the history of a run that has begun (see [BeginName]), and the size in
// bytes of an incomplete last one.
func WholeRounds(history *os.File) (whole io.Reader, rest int64, err error) {
	info, err := history.Stat()
	if err != nil {
		return nil, 0, err
	}
	return histories.WholeParts(history, info.Size())
}
