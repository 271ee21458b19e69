package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/zktorture/zktorture/torture-campaign/page"
)

// paces is the folder, in that of the failures, in which campaigns leave how fast they were: a file for each, by the
// time at which it began.
const paces = "paces"

// pace writes down how fast this campaign was, and returns how fast the last one before it was; nil: there is none.
func pace(store string, began time.Time, digest string, now page.Pace) (before page.Pace, err error) {
	dir := filepath.Join(store, paces)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	own := began.UTC().Format("20060102T150405Z") + "-" + digest[:12] + ".json"
	files, err := os.ReadDir(dir) // in the order of their names
	if err != nil {
		return nil, err
	}
	last := ""
	for _, f := range files {
		if f.Name() < own {
			last = f.Name()
		}
	}
	if last != "" {
		text, err := os.ReadFile(filepath.Join(dir, last))
		if err == nil {
			err = json.Unmarshal(text, &before)
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, own)); errors.Is(err, fs.ErrNotExist) {
		return before, writeJSON(filepath.Join(dir, own), now)
	}
	return before, nil // it is reported again
}
