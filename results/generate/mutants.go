package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/zktorture/zktorture/results/internal/mutants"
)

const (
	mutatedPackage = "recipes"
	argumentsFile  = "results/mutants.txt"
	scoreMin       = 90 // least percentage of the mutants killed
)

// measureMutants applies every mutation of gremlins to the recipes and tries each mutant with a short simulation.
// Survivors are tried again with all tests of the package. The rest need an argument, in a file of its own. An
// earlier report of gremlins may be given; the results are then written into it, and next time only its survivors are
// tried again.
func measureMutants(ctx context.Context, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("mutants takes at most one argument, the file of a report by gremlins; there are %d",
			len(args))
	}
	all, err := reported(ctx, args)
	if err != nil {
		return err
	}
	viable, broken, err := mutants.Viable(mutatedPackage, all)
	if err != nil {
		return err
	}
	t := score{viable: len(viable), broken: len(broken)}
	if err := retry(ctx, viable); err != nil {
		return err
	}
	t.count(viable)
	if err := rewrite(args, slices.Concat(viable, broken)); err != nil {
		return err
	}
	arguments, err := readArguments()
	if err != nil {
		return err
	}
	return write(ctx, "mutants", func(context.Context) (any, error) { return mutantsPage(t, arguments) })
}

// score counts the mutants.
type score struct {
	viable, broken          int // that compile, and that do not
	bySimulation, byAnother int // killed
	left                    []mutants.Mutant
}

func (t score) percent() float64 { return 100 * float64(t.viable-len(t.left)) / float64(t.viable) }

// reported reads gremlins' report, and runs gremlins if there is none.
func reported(ctx context.Context, args []string) ([]mutants.Mutant, error) {
	if len(args) == 0 {
		return unleash(ctx)
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return nil, err
	}
	return mutants.Read(data)
}

// unleash runs gremlins, with the simulation as the only test.
func unleash(ctx context.Context) ([]mutants.Mutant, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	report := filepath.Join(dir, "report.json")
	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile=internal/tools/go.mod", "gremlins", "unleash", "--silent",
		"--workers", "2", "--timeout-coefficient", "4", "--exclude-files", "published/",
		"--invert-assignments", "--invert-logical", "--invert-loopctrl", "--output", report, "./"+mutatedPackage)
	cmd.Env = append(os.Environ(), "GOFLAGS=-run=Simulation -vet=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gremlins: %w\n%s", err, out)
	}
	data, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	return mutants.Read(data)
}

// retry tries the survivors of gremlins' run again, with the simulation and then with all tests of the package. Among
// them are mutants wrongly reported as not covered: Go's coverage does not count the conditions of a switch.
func retry(ctx context.Context, viable []mutants.Mutant) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.NumCPU())
	for i, m := range viable {
		if m.Killed() || m.Status == mutants.KilledByOther {
			continue
		}
		work.Go(func() (err error) {
			fmt.Fprintf(os.Stderr, "mutant %d of %d: %s\n", i+1, len(viable), m)
			viable[i].Status, err = status(ctx, m)
			return err
		})
	}
	return work.Wait()
}

// count counts the mutants by status.
func (t *score) count(viable []mutants.Mutant) {
	for _, m := range viable {
		switch m.Status {
		case mutants.Killed:
			t.bySimulation++
		case mutants.KilledByOther:
			t.byAnother++
		default:
			t.left = append(t.left, m)
		}
	}
}

// rewrite writes the statuses into the given report, if there is one.
func rewrite(args []string, all []mutants.Mutant) error {
	if len(args) == 0 {
		return nil
	}
	data, err := mutants.Write(all)
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], data, 0o644)
}

// The tests of the package, as arguments of its test binary.
const (
	simulation = "-test.run=Simulation"
	others     = "-test.skip=Simulation"
)

// timeouts are many times the duration of the tests. They kill mutants that wait or loop for ever.
var timeouts = map[string]string{simulation: "2m", others: "15s"}

// status tells which of the package's tests fail or time out with the mutant: the simulation, another, or none.
func status(ctx context.Context, m mutants.Mutant) (string, error) {
	if !m.Lived() { // else gremlins has tried
		if dies, err := dies(ctx, m, simulation); dies || err != nil {
			return mutants.Killed, err
		}
	}
	if dies, err := dies(ctx, m, others); dies || err != nil {
		return mutants.KilledByOther, err
	}
	return mutants.Lived, nil
}

// dies reports whether some tests fail with the mutant.
func dies(ctx context.Context, m mutants.Mutant, tests string) (bool, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	source, err := m.Apply(mutatedPackage)
	if err != nil {
		return false, err
	}
	var without []string
	if tests == others { // which are built without the simulation, as that takes longest to build
		without = append(without, "simulation_test.go")
	}
	overlay, err := overlay(dir, m.File, source, without...)
	if err != nil {
		return false, err
	}
	binary := filepath.Join(dir, "mutant.test")
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", binary, "-overlay", overlay,
		"./"+mutatedPackage).CombinedOutput(); err != nil {
		return false, fmt.Errorf("%s cannot be built: %w\n%s", m, err, out)
	}
	test := exec.CommandContext(ctx, binary, "-test.failfast", "-test.timeout="+timeouts[tests], tests)
	test.Dir = mutatedPackage
	return test.Run() != nil, ctx.Err()
}

// overlay writes a changed file of the package, and the overlay for the go command (go help build: -overlay), in which
// other files of the package are left out.
func overlay(dir, file string, source []byte, without ...string) (path string, err error) {
	folder, err := filepath.Abs(mutatedPackage)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, file)
	replace := map[string]string{filepath.Join(folder, file): changed}
	for _, name := range without {
		replace[filepath.Join(folder, name)] = ""
	}
	table, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, errors.Join(os.WriteFile(changed, source, 0o644), os.WriteFile(path, table, 0o644))
}

// readArguments reads why mutants survive: a mutated line of source, as the page shows it, followed by indented lines
// of the argument.
func readArguments() (map[string]string, error) {
	data, err := os.ReadFile(argumentsFile)
	if err != nil {
		return nil, err
	}
	arguments := map[string]string{}
	of := ""
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "\t"):
			arguments[of] = strings.TrimSpace(arguments[of] + " " + strings.TrimSpace(line))
		default:
			of = line
		}
	}
	return arguments, lines.Err()
}

func mutantsPage(t score, arguments map[string]string) (any, error) {
	problems := unargued(t.left, arguments)
	if t.percent() < scoreMin {
		problems = append(problems, fmt.Errorf("%w: the score is %.1f %%, less than %d %%", errUnexpected,
			t.percent(), scoreMin))
	}
	return facts{
		"Package": mutatedPackage, "File": argumentsFile, "Viable": t.viable, "Broken": t.broken, "Score": t.percent(),
		"BySimulation": t.bySimulation, "ByAnother": t.byAnother, "Left": t.left, "Arguments": arguments,
	}, errors.Join(problems...)
}

// unargued lists survivors without an argument, and arguments without a survivor.
func unargued(left []mutants.Mutant, arguments map[string]string) (problems []error) {
	idle := maps.Clone(arguments)
	for _, m := range left {
		delete(idle, m.Change())
		if arguments[m.Change()] == "" {
			problems = append(problems, fmt.Errorf("%w: nothing in %s says why this mutant lives: %s", errUnexpected,
				argumentsFile, m.Change()))
		}
	}
	for _, change := range slices.Sorted(maps.Keys(idle)) {
		problems = append(problems, fmt.Errorf("%w: %s argues about a mutant that does not live: %s", errUnexpected,
			argumentsFile, change))
	}
	return problems
}
