package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ReadLines reads a record: a file with a value of JSON in each line. One that is not there is empty.
func ReadLines[T any](path string) (all []T, err error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		var one T
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w: remove that line, and it is measured again", path, len(all)+1, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// WriteLines writes a record.
func WriteLines[T any](path string, all []T) error {
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	for _, one := range all {
		if err := lines.Encode(one); err != nil {
			return err
		}
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
