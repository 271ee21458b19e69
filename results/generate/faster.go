package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/zktorture/zktorture/workload"
)

// This tree is measured beside the commit that is asked for, or the one before the issue that asked for more speed.
const (
	fasterBase     = "da026b3"
	fasterRounds   = 9
	fasterEpisodes = 3000
)

// cost is what episodes took.
type cost struct {
	CPU                          time.Duration // of user and system
	Episodes, Steps, Allocations int64
}

func (c *cost) add(d cost) {
	c.CPU, c.Episodes = c.CPU+d.CPU, c.Episodes+d.Episodes
	c.Steps, c.Allocations = c.Steps+d.Steps, c.Allocations+d.Allocations
}

// Micros is the processor time of an episode, in µs.
func (c cost) Micros() float64 { return float64(c.CPU.Microseconds()) / float64(c.Episodes) }

// MicrosAStep is that of a step.
func (c cost) MicrosAStep() float64 { return float64(c.CPU.Microseconds()) / float64(c.Steps) }

// Allocs are the allocations of an episode.
func (c cost) Allocs() float64 { return float64(c.Allocations) / float64(c.Episodes) }

// AllocsAStep are those of a step.
func (c cost) AllocsAStep() float64 { return float64(c.Allocations) / float64(c.Steps) }

// compared is a kind of recipe at two commits.
type compared struct {
	Kind          string
	Before, Now   cost    // of all rounds
	Episode, Step float64 // how many times as fast: medians of the rounds
}

// measureFaster compares what an episode of each kind costs at a commit and in this tree.
func measureFaster(ctx context.Context, asked []string) error {
	if len(asked) > 1 {
		return fmt.Errorf("faster %q: want at most one commit", asked)
	}
	base := append(asked, fasterBase)[0]
	dir, err := os.MkdirTemp("", "zktorture-faster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	before, now := filepath.Join(dir, "before"), filepath.Join(dir, "now")
	if err := buildAt(ctx, base, filepath.Join(dir, "tree"), before); err != nil {
		return err
	}
	if err := build(ctx, ".", now); err != nil {
		return err
	}
	return write(ctx, "faster", func(ctx context.Context) (any, error) {
		kinds, err := compareKinds(ctx, before, now)
		return facts{"Base": base, "Rounds": fasterRounds, "Episodes": fasterEpisodes, "Kinds": kinds}, err
	})
}

// buildAt builds the program at a commit, of which it makes a tree for a while.
func buildAt(ctx context.Context, commit, tree, to string) error {
	if err := command(ctx, ".", "git", "worktree", "add", "--detach", tree, commit); err != nil {
		return err
	}
	defer command(context.WithoutCancel(ctx), ".", "git", "worktree", "remove", "--force", tree)
	err := os.CopyFS(filepath.Join(tree, "results/pace"), os.DirFS("results/pace"))
	if err != nil && !errors.Is(err, fs.ErrExist) { // it may have its own
		return err
	}
	return build(ctx, tree, to)
}

func build(ctx context.Context, tree, to string) error {
	return command(ctx, tree, "go", "build", "-o", to, "./results/pace")
}

func command(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", c.Args, err, out)
	}
	return nil
}

func compareKinds(ctx context.Context, before, now string) (all []compared, err error) {
	for _, k := range workload.Kinds() {
		c, err := compareKind(ctx, k.Name, before, now)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// compareKind runs the same seeds at both commits, in turns.
func compareKind(ctx context.Context, kind, before, now string) (compared, error) {
	c := compared{Kind: kind}
	var episodes, steps []float64
	for seed := range fasterRounds {
		x, err := pay(ctx, before, kind, seed)
		if err != nil {
			return c, err
		}
		y, err := pay(ctx, now, kind, seed)
		if err != nil {
			return c, err
		}
		c.Before.add(x)
		c.Now.add(y)
		episodes, steps = append(episodes, x.Micros()/y.Micros()), append(steps, x.MicrosAStep()/y.MicrosAStep())
	}
	c.Episode, c.Step = middle(episodes), middle(steps)
	return c, nil
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// pay runs a campaign.
func pay(ctx context.Context, program, kind string, seed int) (c cost, err error) {
	run := exec.CommandContext(ctx, program, kind, strconv.Itoa(fasterEpisodes), strconv.Itoa(seed+1))
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		return c, fmt.Errorf("%v: %w", run.Args, err)
	}
	err = json.Unmarshal(out, &c)
	c.CPU = run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	return c, err
}
