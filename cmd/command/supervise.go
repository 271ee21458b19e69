package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/cmd/internal/ciformat"
	"github.com/zktorture/zktorture/cmd/internal/cli"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/internal/proc"
	"github.com/zktorture/zktorture/sim"
)

// endVariable is the folder in which a supervised process writes how it has ended.
const endVariable = "ZKTORTURE_END"

// The files in it.
const (
	statusName = "status" // the exit status of a command that has ended by itself
	leftName   = "left"   // the line that has called log.Fatal
)

// supervised are the commands that run recipes in their process.
var supervised = []string{"run", "prove", "replay", "explain", "live", "zoo"}

// supervise has a process of its own carry out a command that runs recipes of a user's: code of theirs may end the process
// (os.Exit, log.Fatal), and that is neither the end of the run nor its exit status.
func supervise(c *console.Context, parsed *kong.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := proc.NewFolder("", "zktorture-run-")
	if err != nil {
		return err
	}
	defer dir.Remove()
	args, clean := c.Args, func() error { return nil }
	if r, is := parsed.Selected().Target.Addr().Interface().(*cli.LiveCmd); is && r.Servers != "" {
		of := cli.CleanCmd{Servers: r.Servers, Root: cmp.Or(r.Root, cli.NewRoot()), AccessFlags: r.AccessFlags}
		args, clean = append(slices.Clone(args), "--root", of.Root), func() error { return of.Remove(c) }
	}
	cmd, ended := exec.Command(self, args...), make(chan struct{})
	cmd.Env = append(os.Environ(), endVariable+"="+dir.Path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, c.Bare.Stdout, c.Bare.Stderr
	if err := proc.Start(cmd, func() { _ = cmd.Wait(); close(ended) }); err != nil {
		return err
	}
	select {
	case <-ended:
	case <-c.Done():
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	}
	text, err := os.ReadFile(filepath.Join(dir.Path, statusName))
	if status, wrong := strconv.Atoi(string(text)); err == nil && wrong == nil {
		return console.VerdictError(status)
	}
	at, _ := os.ReadFile(filepath.Join(dir.Path, leftName))
	reason := fmt.Sprintf("code of the recipe has ended the process of the run (%v), by %s: return an error instead; with --exact it counts as a crash",
		cmd.ProcessState, cmp.Or(string(at), "os.Exit or a signal"))
	return errors.Join(report(c, parsed, reason), clean(), errors.New(reason))
}

// report writes what a run would have written that has no result, as JSON and as JUnit.
func report(c *console.Context, parsed *kong.Context, reason string) (err error) {
	for _, f := range parsed.Flags() {
		switch value := parsed.FlagValue(f); {
		case f.Name == "json" && value == true:
			err = errors.Join(err, console.WriteJSON(c.Stdout, output.Summarize(sim.Result{Verdict: sim.VerdictUnknown, Reason: reason}, "", nil)))
		case f.Name == "junit" && value != "":
			ci := output.CIFlags{JUnit: value.(string)}
			err = errors.Join(err, ci.Write(ciformat.Report{Title: "torture", Cases: []ciformat.Case{
				{Name: "the run ends by itself", Verdict: sim.VerdictUnknown, Reason: reason}}}))
		}
	}
	return err
}

// underSupervision notes in the folder of the process that supervises this one what calls log.Fatal, and returns what is
// to be called with the status of the command when it has ended.
func underSupervision(dir string) (end func(status int)) {
	log.SetOutput(fatalWatch{log.Writer(), filepath.Join(dir, leftName)})
	return func(status int) {
		_ = os.WriteFile(filepath.Join(dir, statusName), []byte(strconv.Itoa(status)), 0o600)
	}
}

// fatalWatch is the output of package log.
type fatalWatch struct {
	io.Writer
	file string
}

// Write implements [io.Writer]. The caller of log.Fatal is noted now, as the process ends when this returns.
func (f fatalWatch) Write(text []byte) (int, error) {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for fatal, more := false, true; more; {
		var at runtime.Frame
		at, more = frames.Next()
		if strings.HasPrefix(at.Function, "log.") {
			fatal = fatal || strings.Contains(at.Function, "Fatal")
			continue
		}
		if fatal {
			_ = os.WriteFile(f.file, fmt.Appendf(nil, "log.Fatal at %s:%d", at.File, at.Line), 0o600)
		}
		break
	}
	return f.Writer.Write(text)
}

// needsSupervision reports whether a command line is to be supervised.
func needsSupervision(parsed *kong.Context) bool {
	name, _, _ := strings.Cut(parsed.Command(), " ")
	return slices.Contains(supervised, name) && os.Getenv(endVariable) == "" && proc.Allowed() == nil
}
