package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/zktorture/zktorture/workload"
)

// This tree is measured beside the commit before the issue that asked for more speed.
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

// tools are the programs of one commit.
type tools struct{ pace, torture string }

// measureFaster compares this tree with fasterBase: what an episode of each kind costs and, if "zoo" is asked for, a hunt
// for the animals that there were.
func measureFaster(ctx context.Context, asked []string) error {
	if len(asked) > 1 || len(asked) == 1 && asked[0] != "zoo" {
		return fmt.Errorf("faster %v: want nothing more, or zoo", asked)
	}
	dir, err := os.MkdirTemp("", "zktorture-faster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	before, now, err := buildBoth(ctx, dir)
	if err != nil {
		return err
	}
	return write(ctx, "faster", func(ctx context.Context) (any, error) {
		data := facts{"Base": fasterBase, "Rounds": fasterRounds, "Episodes": fasterEpisodes, "Zoo": nil}
		kinds, err := compareKinds(ctx, before.pace, now.pace)
		data["Kinds"] = kinds
		if err == nil && len(asked) == 1 {
			data["Zoo"], err = compareZoos(ctx, before.torture, now.torture)
		}
		return data, err
	})
}

// buildBoth builds the programs of fasterBase and of this tree.
func buildBoth(ctx context.Context, dir string) (before, now tools, err error) {
	tree := filepath.Join(dir, "tree")
	if err := command(ctx, ".", "git", "worktree", "add", "--detach", tree, fasterBase); err != nil {
		return before, now, err
	}
	defer command(context.WithoutCancel(ctx), ".", "git", "worktree", "remove", "--force", tree)
	if err := os.CopyFS(filepath.Join(tree, "results/pace"), os.DirFS("results/pace")); err != nil {
		return before, now, err
	}
	if before, err = build(ctx, tree, filepath.Join(dir, "before")); err != nil {
		return before, now, err
	}
	now, err = build(ctx, ".", filepath.Join(dir, "now"))
	return before, now, err
}

func build(ctx context.Context, tree, to string) (tools, error) {
	err := command(ctx, tree, "go", "build", "-o", to+"/", "./results/pace", "./cmd/torture")
	return tools{filepath.Join(to, "pace"), filepath.Join(to, "torture")}, err
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
	out, spent, err := timed(ctx, program, kind, strconv.Itoa(fasterEpisodes), strconv.Itoa(seed+1))
	if err != nil {
		return c, err
	}
	err = json.Unmarshal(out, &c)
	c.CPU = spent
	return c, err
}

// timed runs a program and returns what it printed, and the processor time that it took.
func timed(ctx context.Context, program string, args ...string) ([]byte, time.Duration, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("%v: %w", c.Args, err)
	}
	return out, c.ProcessState.UserTime() + c.ProcessState.SystemTime(), nil
}

// zoos are two hunts for the same animals.
type zoos struct {
	Animals     int
	Before, Now time.Duration // processor time
}

// Share is how much of the processor time is left.
func (z zoos) Share() float64 { return z.Now.Seconds() / z.Before.Seconds() }

// Minutes is a processor time in minutes.
func (z zoos) Minutes(d time.Duration) string { return fmt.Sprintf("%.1f", d.Minutes()) }

func compareZoos(ctx context.Context, before, now string) (z zoos, err error) {
	out, spent, err := timed(ctx, before, "zoo", "--json")
	if err != nil {
		return z, err
	}
	var hunted struct{ Animals []struct{ ID string } }
	if err := json.Unmarshal(out, &hunted); err != nil {
		return z, err
	}
	args := []string{"zoo", "--json"}
	for _, a := range hunted.Animals {
		args = append(args, a.ID)
	}
	z.Animals, z.Before = len(hunted.Animals), spent
	_, z.Now, err = timed(ctx, now, args...)
	return z, err
}
