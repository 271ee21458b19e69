package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/exact"
)

// TestCmd is go test in exact mode.
type TestCmd struct {
	Args []string `arg:"" optional:"" help:"Arguments for go test: packages and flags."`
}

// Run runs go vet as go test does, then go test, whose exit status is the command's. They are apart because go vet does not
// know what to do with another runtime.
func (t *TestCmd) Run(c *console.Context) error {
	args := goTestArgs(t.Args)
	if _, given := args.value("overlay"); given {
		return errors.New("torture test needs -overlay for itself, and go test takes only one: leave it out")
	}
	build, err := exact.Prepare(c)
	if err != nil {
		return err
	}
	if err := vet(c, args); err != nil {
		return err
	}
	tags, err := args.tags(c)
	if err != nil {
		return err
	}
	command := slices.Concat(args.dir(), []string{"-overlay=" + build.Overlay, "-tags=" + tags, "-vet=off"},
		args.without("C", "tags", "vet"))
	return console.Become(c, build.Env, "go", append([]string{"test"}, command...)...)
}

// vetChecks are those that go test has made since Go 1.24, see go help test.
var vetChecks = strings.Fields("atomic bool buildtags directive errorsas ifaceassert nilfunc printf stringintconv tests")

// vet runs go vet with an ordinary runtime. Its status is that of go test when that has found something: 1.
func vet(c *console.Context, args goTestArgs) error {
	checks := vetChecks
	switch given, is := args.value("vet"); {
	case is && given == "off":
		return nil
	case is && given == "all":
		checks = nil
	case is:
		checks = strings.Split(given, ",")
	}
	command := append([]string{"vet"}, args.dir()...)
	for _, check := range checks {
		command = append(command, "-"+check)
	}
	for _, name := range []string{"tags", "mod", "modfile"} {
		if value, is := args.value(name); is {
			command = append(command, "-"+name+"="+value)
		}
	}
	cmd := exec.CommandContext(c, "go", append(command, args.packages()...)...)
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	cmd.Stdout, cmd.Stderr = c.Bare.Stderr, c.Bare.Stderr
	err := cmd.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return console.VerdictError(1)
	}
	return err
}

// goTestArgs are arguments of go test.
type goTestArgs []string

// goTestValues are the flags of go test that take a value, which may be the next argument: see go help build, testflag.
var goTestValues = strings.Fields(`C asmflags bench benchtime blockprofile blockprofilerate buildmode compiler count
	covermode coverpkg coverprofile cpu cpuprofile exec fuzz fuzzminimizetime fuzztime gccgoflags gcflags installsuffix
	ldflags list memprofile memprofilerate mod modfile mutexprofile mutexprofilefraction o outputdir overlay p parallel
	pgo pkgdir run shuffle skip tags timeout toolexec trace vet`)

// goTestSwitches are those that take none.
var goTestSwitches = strings.Fields(`a artifacts asan benchmem buildvcs c cover failfast fullpath i json linkshared
	modcacherw msan n race short trimpath v work x`)

// each calls f with each flag and its value, and with "" and each package, and the arguments that these are. What comes
// after -args, or after a flag that go test does not know, is the test's: all of it has the name args.
func (a goTestArgs) each(f func(name, value string, args []string)) {
	for i := 0; i < len(a); {
		flag, value, whole := strings.Cut(a[i], "=")
		name := strings.TrimPrefix(strings.TrimPrefix(flag, "-"), "-")
		n := 1
		switch {
		case name == flag:
			name, value = "", a[i]
		case slices.Contains(goTestSwitches, name):
		case !slices.Contains(goTestValues, name):
			f("args", "", a[i:])
			return
		case !whole && i+1 < len(a):
			value, n = a[i+1], 2
		}
		f(name, value, a[i:i+n])
		i += n
	}
}

// value returns the last value of a flag.
func (a goTestArgs) value(flag string) (value string, given bool) {
	a.each(func(name, v string, _ []string) {
		if name == flag {
			value, given = v, true
		}
	})
	return value, given
}

// without returns the arguments without some flags.
func (a goTestArgs) without(flags ...string) (rest []string) {
	a.each(func(name, _ string, args []string) {
		if !slices.Contains(flags, name) {
			rest = append(rest, args...)
		}
	})
	return rest
}

// packages returns the packages to test.
func (a goTestArgs) packages() (all []string) {
	a.each(func(name, value string, _ []string) {
		if name == "" {
			all = append(all, value)
		}
	})
	return all
}

// dir returns the flag -C, which go test wants first.
func (a goTestArgs) dir() []string {
	if dir, given := a.value("C"); given {
		return []string{"-C=" + dir}
	}
	return nil
}

// tags returns the build tags, those of exact mode among them.
func (a goTestArgs) tags(ctx context.Context) (string, error) {
	given, is := a.value("tags")
	if !is {
		out, err := exec.CommandContext(ctx, "go", "env", "GOFLAGS").Output()
		if err != nil {
			return "", fmt.Errorf("go env GOFLAGS: %w", err)
		}
		given, _ = goTestArgs(strings.Fields(string(out))).value("tags")
	}
	return strings.TrimPrefix(given+","+exact.Tag, ","), nil
}
