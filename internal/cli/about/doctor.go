package about

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/netns"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

type DoctorCmd struct {
	JSON bool `name:"json" help:"Print one JSON object, and nothing else, to standard output."`
}

// probe is something that may be there or not.
type probe struct {
	name    string
	enables string // what does not work without it
	get     string // the command that gets it, or what else to do
	needed  bool   // without it nothing works
	look    func(context.Context) (found string, err error)
	systems string // where it can be there; "" is everywhere
}

// Probes are all that torture doctor looks at.
var Probes = []probe{
	{name: "simulator", enables: "torture run, and all that is simulated", needed: true, look: lookAtSimulator,
		get: "report it, with what torture doctor --json prints"},
	{name: "temporary folder", enables: "torture run, demo, and real servers", needed: true, look: lookAtTemp,
		get: "set TMPDIR to a folder that can be written"},
	{name: "this folder", enables: "counterexamples of torture run without --out", look: lookAtFolder,
		get: "cd to a folder that can be written, or give --out DIR"},
	{name: "disk space", enables: "long runs on real servers, and builds in exact mode", look: lookAtDisk,
		get: "make room in the temporary folder, or set TMPDIR to another one"},
	{name: "loopback", enables: "torture live, serve and proxy", look: lookAtLoopback,
		get: "allow connections to 127.0.0.1: a firewall or a sandbox forbids them"},
	{name: "Go", enables: "tests of your own recipes, torture test, and --exact", look: lookAtGo,
		get: "https://go.dev/dl, Go " + GoNeeded + " or later"},
	{name: "C compiler", enables: "go test -race", look: lookAtCompiler, get: "apt-get install gcc"},
	{name: "Java", enables: "torture live --start, zoo --confirm, and replay --live", look: lookAtJava,
		get: "apt-get install default-jre-headless"},
	{name: "ZooKeeper", enables: "the same; the first run that needs it fetches it where there is apt-get", look: lookAtZooKeeper,
		get: "go run github.com/zktorture/zktorture/live/ensemble/cmd/zkfetch"},
	{name: "network namespaces", enables: "torture live --start with the fault partition", look: lookAtNamespaces,
		get:     "run it as root, or sysctl -w kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0",
		systems: "linux"},
	{name: "kazoo", enables: "examples and tests of recipes in Python", look: lookAtKazoo, get: "apt-get install python3-kazoo"},
	{name: "Curator", enables: "examples and tests of recipes in Java", look: lookForFile("/usr/share/java/curator-recipes.jar"),
		get: "apt-get install libcurator-recipes-java default-jdk-headless"},
	{name: "C client", enables: "this project's tests of ZooKeeper's C client", look: lookForFile("/usr/lib/zookeeper/bin/cli_mt"),
		get: "apt-get install zookeeper-bin"},
	{name: "Chromium", enables: "this project's tests of pages", look: lookAtBrowser, get: "apt-get install chromium"},
}

// Diagnosis is what came of a probe.
type Diagnosis struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Needed  bool   `json:"needed,omitempty"`
	Found   string `json:"found,omitempty"`
	Problem string `json:"problem,omitempty"`
	Without string `json:"without,omitempty"` // what does not work
	Get     string `json:"get,omitempty"`
}

// Diagnoses is the object that --json prints.
type Diagnoses struct {
	Program string      `json:"program"`
	Go      string      `json:"go"`
	System  string      `json:"system"`
	Probes  []Diagnosis `json:"probes"`
}

// probeMax is how long a probe may take.
const probeMax = 30 * time.Second

// Run executes the command. Its status is 2 if nothing can be simulated here, and 0 otherwise.
func (d *DoctorCmd) Run(c *console.Context) error {
	all := Diagnoses{Program: programVersion(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	exit := console.ExitOK
	if !d.JSON {
		fmt.Fprintf(c.Stdout, "torture %s, built with %s for %s\n\n", all.Program, all.Go, all.System)
	}
	for _, p := range Probes {
		if p.systems != "" && p.systems != runtime.GOOS {
			p.get = "only " + p.systems + " has them"
		}
		found := p.diagnose(c)
		if !found.OK && found.Needed {
			exit = console.ExitUnknown
		}
		if all.Probes = append(all.Probes, found); !d.JSON {
			found.print(c.Stdout)
		}
	}
	if d.JSON {
		if err := console.WriteJSON(c.Stdout, all); err != nil {
			return err
		}
	}
	if exit != console.ExitOK {
		return console.VerdictError(exit)
	}
	return nil
}

func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "of unknown version"
}

func (p probe) diagnose(c context.Context) Diagnosis {
	ctx, cancel := context.WithTimeout(c, probeMax)
	defer cancel()
	found, err := p.look(ctx)
	if err != nil {
		return Diagnosis{Name: p.name, Needed: p.needed, Problem: err.Error(), Without: p.enables, Get: p.get}
	}
	return Diagnosis{Name: p.name, OK: true, Needed: p.needed, Found: found}
}

func (d Diagnosis) print(w io.Writer) {
	word := "ok"
	if !d.OK {
		word = "missing"
	}
	if !d.OK && d.Needed {
		word = "needed"
	}
	console.Paint(w, console.VerdictStyles[word], fmt.Sprintf("%-8s", word))
	if d.OK {
		fmt.Fprintf(w, " %-19s %s\n", d.Name, d.Found)
		return
	}
	const indent = "\n                             "
	problem, _, _ := strings.Cut(d.Problem, "\n")
	fmt.Fprintf(w, " %-19s %s%swithout it: %s%sto get it:  %s\n", d.Name, problem, indent, d.Without, indent, d.Get)
}

// lookAtSimulator runs some episodes.
func lookAtSimulator(ctx context.Context) (string, error) {
	w, err := workload.Find("counter", "")
	if err != nil {
		return "", err
	}
	r, err := sim.Run(ctx, w, sim.Config{Episodes: 20, Seed: 1, NoShrink: true})
	if err == nil && r.Verdict != sim.VerdictOK {
		err = fmt.Errorf("%d episodes of counter, whose recipe is known to be good, are %s: %s", r.Episodes, r.Verdict, r.Reason)
	}
	return fmt.Sprintf("%d episodes were simulated", r.Episodes), err
}

func lookAtTemp(context.Context) (string, error) { return writable(os.TempDir()) }

func lookAtFolder(context.Context) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return writable(dir)
}

func writable(dir string) (string, error) {
	file, err := os.CreateTemp(dir, ".torture-doctor-")
	if err != nil {
		return "", err
	}
	return dir + " can be written", errors.Join(file.Close(), os.Remove(file.Name()))
}

// spaceMin is how much space long runs take, in bytes.
const spaceMin = 1 << 30

func lookAtDisk(context.Context) (string, error) {
	free, err := freeSpace(os.TempDir())
	if err == nil && free < spaceMin {
		err = fmt.Errorf("%.1f GB are free in %s, and 1 GB is needed", float64(free)/(1<<30), os.TempDir())
	}
	return fmt.Sprintf("%.1f GB are free in %s", float64(free)/(1<<30), os.TempDir()), err
}

func lookAtLoopback(ctx context.Context) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return "", err
	}
	return "127.0.0.1 has free ports", conn.Close()
}

// GoNeeded is the version of Go in go.mod.
const GoNeeded = "1.26"

func lookAtGo(ctx context.Context) (string, error) { return firstLine(ctx, "go", "version") }

func lookAtCompiler(ctx context.Context) (string, error) {
	if cc := os.Getenv("CC"); cc != "" {
		return firstLine(ctx, cc, "--version")
	}
	return firstLineOfAny(ctx, []string{"gcc", "clang", "cc"}, "--version")
}

// firstLine is the first line that a program prints. The error has its last, in which programs say what is wrong.
func firstLine(ctx context.Context, program string, args ...string) (string, error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	said := strings.TrimSpace(cmp.Or(strings.TrimSpace(out.String()), complaint.String()))
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return "", fmt.Errorf("%s %s: %s", program, args[0], said[strings.LastIndexByte(said, '\n')+1:])
	}
	line, _, _ := strings.Cut(said, "\n")
	return line, err
}

// firstLineOfAny is that of the first of several programs that is there.
func firstLineOfAny(ctx context.Context, programs []string, args ...string) (string, error) {
	for _, program := range programs {
		if path, err := exec.LookPath(program); err == nil {
			return firstLine(ctx, path, args...)
		}
	}
	return "", fmt.Errorf("none of %s is on the path", strings.Join(programs, ", "))
}

func lookAtJava(ctx context.Context) (string, error) {
	java, err := ensemble.FindJava(ctx)
	if err != nil {
		return "", err
	}
	return firstLine(ctx, java, "-version")
}

func lookAtZooKeeper(context.Context) (string, error) {
	found, err := ensemble.Find()
	if err != nil {
		return "", err
	}
	return found.Origin, nil
}

func lookAtNamespaces(context.Context) (string, error) { return "can be made", netns.Possible() }

func lookAtKazoo(ctx context.Context) (string, error) {
	version, err := firstLine(ctx, "python3", "-c", "import kazoo.version; print(kazoo.version.__version__)")
	return "kazoo " + version, err
}

func lookForFile(name string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		_, err := os.Stat(filepath.FromSlash(name))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no %s", name)
		}
		return name, err
	}
}

func lookAtBrowser(ctx context.Context) (string, error) {
	programs := []string{"chromium", "chromium-browser", "google-chrome"}
	if program := os.Getenv("CHROMIUM"); program != "" {
		programs = []string{program}
	}
	return firstLineOfAny(ctx, programs, "--version")
}
