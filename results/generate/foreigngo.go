package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/zktorture/zktorture/live/worker"
)

// goModule is the module with the recipes of other Go projects.
const goModule = "zoo/foreign"

// goEpisodes is the number of simulated episodes of each run.
const goEpisodes = 500

// goRecipe is one of these recipes.
type goRecipe struct {
	kind, name string // there
	Title      string
	Project    string // module path
	Licence    string
	Client     string // library, and who connects
	defects    []goDefect
}

// goDefect is a line of known.tsv: a cause, and where it shows in simulation, "-" if no story of it could be repeated.
type goDefect struct {
	foreignCause
	simFaults, property string
}

var goRecipes = []goRecipe{
	{kind: "lock", name: "go-zookeeper", Title: "zk.Lock", Project: "github.com/go-zookeeper/zk",
		Licence: "BSD-3-Clause", Client: "itself; takes a *zk.Conn"},
	{kind: "lock", name: "gnmi-gateway", Title: "gnmi-gateway's ZookeeperNonBlockingLock",
		Project: "github.com/openconfig/gnmi-gateway", Licence: "Apache-2.0", Client: "go-zookeeper; takes a *zk.Conn"},
	{kind: "lock", name: "byteway", Title: "byteway's ZkLock2", Project: "github.com/bytewayio/byteway/cypress",
		Licence: "MIT", Client: "go-zookeeper; takes a *zk.Conn"},
	{kind: "lock", name: "vault", Title: "Vault's ZooKeeperHALock", Project: "github.com/hashicorp/vault",
		Licence: "MPL-2.0", Client: "go-zookeeper; connects"},
	{kind: "lock", name: "valkeyrie", Title: "valkeyrie's lock", Project: "github.com/kvtools/zookeeper",
		Licence: "Apache-2.0", Client: "go-zookeeper; connects"},
	{kind: "lock", name: "kazoo-go", Title: "kazoo-go's ClaimPartition", Project: "github.com/wvanbergen/kazoo-go",
		Licence: "MIT", Client: "samuel/go-zookeeper; connects"},
	{kind: "election", name: "leadership", Title: "docker/leadership over libkv", Project: "github.com/docker/leadership",
		Licence: "Apache-2.0", Client: "samuel/go-zookeeper; connects"},
}

// knownDefects reads the defects of a recipe from known.tsv.
func (r goRecipe) knownDefects(file string) (all []goDefect, err error) {
	text, err := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		words := strings.Split(strings.TrimSpace(line), "\t")
		if len(words) != 7 {
			return nil, fmt.Errorf("%s: a line has %d columns of 7: %s", file, len(words), line)
		}
		if words[0] == r.kind && words[1] == r.name {
			cause := foreignCause{words[2], strings.Fields(words[6]), words[5]}
			all = append(all, goDefect{cause, words[3], words[4]})
		}
	}
	return all, err
}

// onServers reports whether a defect is sought on real servers: not if these do not show what it takes to judge it.
func (d goDefect) onServers() bool { return d.faults != "-" }

// goTortured is what came of torturing such a recipe.
type goTortured struct {
	goRecipe
	Version   string
	Simulated *runResult
	Real      tortured
	Defects   []goShown
}

// goShown is a defect as it is shown: in simulation, and on real servers unless it cannot be judged there.
type goShown struct {
	shown
	SimFaults string
	Story     *simStory
}

// simStory is a violation in simulation.
type simStory struct {
	Property, Message string
	Trace             []string
	Times, Episodes   int
}

// Lines is the trace as text.
func (s *simStory) Lines() string { return strings.Join(s.Trace, "\n") }

// measureForeignGo tortures four recipes at a time: on real servers they mostly wait.
func measureForeignGo(ctx context.Context) (any, error) {
	dir, err := os.MkdirTemp("", "foreigngo")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, command := range []string{"worker", "torture"} {
		if err := goBuild(ctx, filepath.Join(dir, command), "./"+command); err != nil {
			return nil, err
		}
	}
	server, err := serverVersion(ctx)
	if err != nil {
		return nil, err
	}
	all, problems := make([]goTortured, len(goRecipes)), make([]error, len(goRecipes))
	var group errgroup.Group
	group.SetLimit(4)
	for i, r := range goRecipes {
		group.Go(func() error {
			all[i], problems[i] = r.measure(ctx, dir)
			return fatal(problems[i], nil)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return facts{"Duration": foreignTorture, "Episodes": goEpisodes, "Server": server, "Recipes": all},
		errors.Join(problems...)
}

func goBuild(ctx context.Context, to, what string) error {
	build := exec.CommandContext(ctx, "go", "-C", goModule, "build", "-o", to, what)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	return build.Run()
}

func (r goRecipe) measure(ctx context.Context, dir string) (one goTortured, err error) {
	if r.defects, err = r.knownDefects(goModule + "/known.tsv"); err != nil {
		return one, err
	}
	one.goRecipe = r
	if one.Version, err = r.version(ctx); err != nil {
		return one, err
	}
	if one.Simulated, err = r.simulate(ctx, dir, "all"); err != nil {
		return one, err
	}
	own := filepath.Join(dir, r.name)
	if err := os.Mkdir(own, 0o755); err != nil {
		return one, err
	}
	command := worker.Foreign + filepath.Join(dir, "worker") + " " + r.name
	t := &torturer{ctx: ctx, dir: own, torture: torture, library: foreignLibrary{command: command}}
	t.recipe = foreignRecipe{name: r.Title, kind: r.kind, library: r.name, causes: r.onServers()}
	var problem error
	if one.Real, problem = t.measure(); fatal(problem, nil) != nil {
		return one, problem
	}
	one.Defects, err = r.tell(ctx, dir, one.Real.Shown)
	return one, errors.Join(problem, err)
}

// onServers are the causes that are sought on real servers.
func (r goRecipe) onServers() (all []foreignCause) {
	for _, d := range r.defects {
		if d.onServers() {
			all = append(all, d.foreignCause)
		}
	}
	return all
}

// tell adds the stories of the simulation to what was shown on real servers.
func (r goRecipe) tell(ctx context.Context, dir string, real []shown) (all []goShown, err error) {
	for _, d := range r.defects {
		one := goShown{SimFaults: d.simFaults}
		if d.onServers() {
			one.shown, real = real[0], real[1:]
		} else if one.Text, err = d.explanation(); err != nil {
			return nil, err
		}
		if d.property != "-" {
			if one.Story, err = r.story(ctx, dir, d); err != nil {
				return nil, err
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// story is the story of a defect.
func (r goRecipe) story(ctx context.Context, dir string, d goDefect) (*simStory, error) {
	run, err := r.simulate(ctx, dir, d.simFaults)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(run.Violations, func(v violation) bool { return v.Property == d.property })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s: %s was not broken in %d episodes with %s", errUnexpected, r.Title, d.property,
			goEpisodes, d.simFaults)
	}
	v := run.Violations[i]
	file, err := os.ReadFile(v.File)
	if err != nil {
		return nil, err
	}
	s := &simStory{Property: v.Property, Message: v.Message, Times: v.Times, Episodes: run.Episodes}
	return s, json.Unmarshal(file, s)
}

// simulate runs the recipe in simulation. Episodes are one at a time: go-zookeeper's own goroutines make runs that are
// equal else differ, and fewer do so then.
func (r goRecipe) simulate(ctx context.Context, dir, faults string) (*runResult, error) {
	out := filepath.Join(dir, fmt.Sprintf("sim-%s-%s", r.name, faults))
	args := []string{"run", r.kind, "--recipe", r.name, "--faults", faults, "--episodes", strconv.Itoa(goEpisodes),
		"--seed", "1", "--out", out, "--json", "--exact"}
	var text bytes.Buffer
	command := exec.CommandContext(ctx, filepath.Join(dir, "torture"), args...)
	command.Env = append(os.Environ(), "GOMAXPROCS=1")
	command.Stdout, command.Stderr = &text, os.Stderr
	failed := command.Run()
	result := &runResult{dir: out}
	if err := json.Unmarshal(text.Bytes(), result); err != nil {
		return nil, fmt.Errorf("torture %s printed no result: %w", strings.Join(args, " "), errors.Join(err, failed))
	}
	return result, nil
}

// version is the version of the project in the module's go.mod.
func (r goRecipe) version(ctx context.Context) (string, error) {
	list := exec.CommandContext(ctx, "go", "-C", goModule, "list", "-m", "-f", "{{.Version}}", r.Project)
	version, err := list.Output()
	return strings.TrimSpace(string(version)), err
}
