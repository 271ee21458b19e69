package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/live/ensemble/posix"
)

// Program is a program file that runs units.
type Program struct {
	campaign.Program
	Path string // of the file

	env []string // that its processes have beyond this one's
}

// Programs finds the programs that run units of a plan, one for each version of Go that it wants, and builds those
// that are not there. folder is the one in which the plan's main is, as that of the plan's file; dir is for programs
// that are built.
//
// Without a main and a version of Go it is this program. Without a main, but with versions, it is torture-campaign of the
// same checkout, or of the same version of this module. A recorded plan's program that is in dir, under the
// name that it had in the coordinator's folder, is taken as it is.
//
// Each one has said that it is ready, in exact mode too if the plan wants that. So errors are for people, and come
// before a campaign begins: there is no go command, a version of Go cannot be downloaded, the main does not compile.
func Programs(ctx context.Context, plan *campaign.Plan, folder, dir string) ([]Program, error) {
	if err := posix.Allowed(); err != nil {
		return nil, err
	}
	if err := exactVersions(ctx, plan); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	versions := plan.Go
	if len(versions) == 0 {
		versions = []string{""}
	}
	var all []Program
	for _, version := range versions {
		p, err := programFor(ctx, plan, version, folder, dir)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Record returns the plan as a campaign records it when it begins: see [campaign.Plan.Record]. The jobs are those that
// the first program finds, which knows kinds that this one may not know. Its error is for people: it says which of the
// plan's kinds and recipes are not there.
func Record(
	ctx context.Context, plan *campaign.Plan, programs []Program, known []campaign.Known,
) (*campaign.Plan, error) {
	recorded, err := copyOf(plan)
	if err != nil {
		return nil, err
	}
	recorded.Known = known
	for _, p := range programs {
		recorded.Programs = append(recorded.Programs, p.Program)
	}
	file, err := temporary(recorded)
	if err != nil {
		return nil, err
	}
	defer os.Remove(file)
	cmd := exec.CommandContext(ctx, programs[0].Path, "part", "--plan", file, "--resolve")
	cmd.Env = append(os.Environ(), programs[0].env...)
	text, err := output(cmd)
	if err != nil {
		return nil, fmt.Errorf("%s cannot list the jobs of the plan: %w", programs[0].Path, err)
	}
	return campaign.ParsePlan(text)
}

// Check returns an error, a sentence, unless a program is one of those of a recorded plan.
func Check(plan *campaign.Plan, p Program) error {
	same := func(q campaign.Program) bool { return q.Go == p.Go && q.SHA256 == p.SHA256 }
	if slices.ContainsFunc(plan.Programs, same) {
		return nil
	}
	var has []string
	for _, q := range plan.Programs {
		if q.Go == p.Go {
			has = append(has, named(q))
		}
	}
	if len(has) == 0 {
		has = append(has, "none for Go "+cmp.Or(p.Go, "of its own"))
	}
	return fmt.Errorf("this program is %s, and the campaign has %s: build the same commit by the same Go, for "+
		"the same system, with go build -trimpath -buildvcs=false, or take the program from the coordinator's machine",
		named(p.Program), strings.Join(has, ", and "))
}

func named(p campaign.Program) string {
	return fmt.Sprintf("%s, for %s (SHA-256 %.12s)", p.Build, p.System, p.SHA256)
}

// exactVersions returns an error for a plan that wants exact mode by another Go than is installed: it needs one that
// is, see package exact.
func exactVersions(ctx context.Context, plan *campaign.Plan) error {
	if len(plan.Go) == 0 || !wantsExact(plan) {
		return nil
	}
	installed, err := build{version: "local"}.command(ctx, "env", "GOVERSION")
	if err != nil {
		return fmt.Errorf("exact jobs need an installed Go: %w", err)
	}
	for _, version := range plan.Go {
		if version != installed {
			return fmt.Errorf("the plan wants exact jobs by %s, and exact mode is built by the Go that is installed, "+
				`%s: leave out one of the fields "exact" and "go", or install that Go`, version, installed)
		}
	}
	return nil
}

// programFor finds or builds the program for a version of Go, "" for any.
func programFor(ctx context.Context, plan *campaign.Plan, version, folder, dir string) (p Program, err error) {
	p.Go = version
	if plan.Main == "" && version == "" {
		p.Path, err = os.Executable()
	} else {
		p.Path = filepath.Join(dir, strings.Trim("torture-"+version, "-"))
		err = p.provide(ctx, plan, folder)
	}
	if err == nil {
		err = p.describe(ctx, plan)
	}
	return p, err
}

// provide builds a program, unless it is there already: then nobody needs its sources, but exact mode.
func (p *Program) provide(ctx context.Context, plan *campaign.Plan, folder string) error {
	b, versioned, err := build{folder: folder, main: plan.Main}, false, error(nil)
	if plan.Main == "" {
		b, versioned, err = thisCommand()
	}
	b.version, b.file = p.Go, p.Path
	if err == nil && !versioned {
		err = p.find(ctx, b)
	}
	if p.isOf(plan) {
		return nil
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(p.Path), 0o755)
	}
	switch {
	case err != nil:
		return err
	case versioned:
		return b.fromModule(ctx)
	}
	return b.fromSources(ctx)
}

// find finds the sources of a program.
func (p *Program) find(ctx context.Context, b build) error {
	source, name, err := b.source(ctx)
	if err == nil && name != "main" {
		err = fmt.Errorf("%s is package %s: it has to be a package main that calls command.Main (docs/campaign.md)", b.main, name)
	}
	p.env = []string{mainVariable + "=" + source}
	return err
}

// mainVariable tells the command where the sources of a program are, which exact mode builds anew.
const mainVariable = "ZKTORTURE_MAIN"

// isOf says whether the file is there, and one of a recorded plan's programs.
func (p *Program) isOf(plan *campaign.Plan) bool {
	sum, err := sumOf(p.Path)
	p.SHA256 = sum
	return err == nil && Check(plan, *p) == nil
}

// describe fills in what a program says of itself, and what its file says.
func (p *Program) describe(ctx context.Context, plan *campaign.Plan) (err error) {
	if p.SHA256, err = sumOf(p.Path); err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(p.Path)
	if err != nil {
		return err
	}
	if built, _, _ := strings.Cut(info.GoVersion, " "); p.Go != "" && built != p.Go {
		return fmt.Errorf("%s was built by %s, and the plan wants %s", p.Path, built, p.Go)
	}
	return p.describeItself(ctx, wantsExact(plan))
}

// describeItself has a program say what it is. If exact mode is wanted it is built, which may take a minute, rather
// than in the middle of the campaign.
func (p *Program) describeItself(ctx context.Context, exact bool) error {
	probe := &campaign.Plan{Format: campaign.PlanFormat, Jobs: []campaign.Group{{}}, Canary: "none"}
	file, err := temporary(probe)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	r := New(Config{Plan: probe, File: file})
	defer r.Close()
	c, err := r.start(ctx, *p, false)
	if err != nil {
		return err
	}
	p.Build, p.System = c.ready.Build, c.ready.System
	c.kill()
	if exact {
		if c, err = r.start(ctx, *p, true); err == nil {
			c.kill()
		}
	}
	return err
}

// wantsExact says whether units of a plan are run in exact mode.
func wantsExact(plan *campaign.Plan) bool {
	return slices.ContainsFunc(plan.Jobs, func(g campaign.Group) bool { return g.Exact }) ||
		slices.ContainsFunc(plan.Known, func(k campaign.Known) bool { return k.Counterexample.Exact })
}

// copyOf copies a plan.
func copyOf(plan *campaign.Plan) (*campaign.Plan, error) {
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	c := &campaign.Plan{}
	return c, json.Unmarshal(text, c)
}

// temporary writes a plan into a temporary file.
func temporary(plan *campaign.Plan) (name string, err error) {
	text, err := json.Marshal(plan)
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp("", "zktorture-plan-*.json")
	if err != nil {
		return "", err
	}
	_, err = file.Write(text)
	return file.Name(), errors.Join(err, file.Close())
}

// sumOf is the SHA-256 of a file.
func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	_, err = io.Copy(h, file)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}
