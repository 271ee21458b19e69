package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// runResult is the part in use of the object that torture run --json prints, and the folder of the run.
type runResult struct {
	Episodes        int
	Operations      int64
	Faults          map[string]int
	Verdict, Reason string
	Elapsed         float64 `json:"elapsed_s"`
	Violations      []violation
	dir             string
}

// Minutes is the duration of the run.
func (r *runResult) Minutes() float64 { return r.Elapsed / 60 }

// torture runs the command as a user would, and reads the object that it prints with --json. The outcome is in the
// object: go run turns every failure into exit status 1.
func torture(ctx context.Context, object any, args ...string) error {
	return tortureOf(ctx, "", object, args...)
}

// tortureOf is torture, built with an overlay if one is named.
func tortureOf(ctx context.Context, overlay string, object any, args ...string) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"run", "-overlay", overlay, "./cmd/torture"}, args, []string{"--json"})...)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err := cmd.Run()
	if json.Unmarshal(out.Bytes(), object) != nil {
		return fmt.Errorf("torture %s printed no result: %w", strings.Join(args, " "), err)
	}
	return nil
}
