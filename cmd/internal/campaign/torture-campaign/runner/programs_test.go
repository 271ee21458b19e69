//go:build unix

package runner

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/internal/testkit"
)

// tiny is a package main that is ready.
const tiny = `package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
)

func main() {
	fmt.Printf("{\"ready\": true, \"build\": \"tiny\", \"system\": \"%s/%s\"}\n", runtime.GOOS, runtime.GOARCH)
	io.Copy(io.Discard, os.Stdin)
}
`

// sources writes a module with a package main into a new folder.
func sources(t *testing.T, text string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	write(t, filepath.Join(folder, "go.mod"), "module example.com/own\n\ngo 1.26\n")
	write(t, filepath.Join(folder, "torture", "main.go"), text)
	return folder
}

// ofMain is a plan with a main of one's own.
func ofMain(t *testing.T, more string) *campaign.Plan {
	t.Helper()
	_, plan := writePlan(t, `"main": "./torture", "jobs": [{"kinds": ["mine"]}]`+more)
	return plan
}

func provided(t *testing.T, plan *campaign.Plan, folder, dir string) []Program {
	t.Helper()
	programs, err := Programs(t.Context(), plan, folder, dir)
	if err != nil {
		t.Fatal(err)
	}
	return programs
}

// Without a main this program runs the units, and is one of the recorded plan's.
func TestThisProgram(t *testing.T) {
	_, plan := planOf(t, "panics")
	programs := provided(t, plan, "", t.TempDir())
	recorded, err := Record(t.Context(), plan, programs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(recorded.Resolved) != 1 || recorded.Resolved[0].Recipe != "panics" {
		t.Errorf("the recorded plan has the jobs %+v", recorded.Resolved)
	}
	p := programs[0]
	if err := Check(recorded, p); err != nil {
		t.Error(err)
	}
	if self := campaign.ThisProgram(); p.Program != self {
		t.Errorf("%+v, want %+v", p.Program, self)
	}
	p.SHA256 = "0123456789abcdef"
	const want = "(SHA-256 0123456789ab), and the campaign has "
	err = Check(recorded, p)
	wantSaid(t, err, want)
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("it is no sentence: %v", err)
	}
	p.Go, p.SHA256 = "go1.2", programs[0].SHA256
	wantSaid(t, Check(recorded, p), "none for Go go1.2")
}

// A program does not depend on the folder in which it is built, nor on whether version control knows it.
func TestReproducible(t *testing.T) {
	bare, tagged := sources(t, tiny), sources(t, tiny)
	const commit = "-c user.name=a -c user.email=a@b commit -qm first"
	for _, args := range []string{"init -q", "add .", commit, "tag v1.2.3"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir = tagged
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %s: %v\n%s", args, err, out)
		}
	}
	plan := ofMain(t, "")
	t.Setenv("GOFLAGS", "-buildvcs=auto")
	a, b := provided(t, plan, bare, t.TempDir())[0], provided(t, plan, tagged, t.TempDir())[0]
	if a.SHA256 == "" || a.Program != b.Program {
		t.Errorf("%+v and %+v", a.Program, b.Program)
	}
	if a.Build != "tiny" || a.System != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("%+v, want what it says of itself", a.Program)
	}
	if text, err := os.ReadFile(a.Path); err != nil || strings.Contains(string(text), bare) {
		t.Errorf("the folder %s is in the program: %v", bare, err)
	}
}

// There is a program for each version of Go.
func TestVersions(t *testing.T) {
	version, _, _ := strings.Cut(runtime.Version(), " ")
	dir := t.TempDir()
	p := provided(t, ofMain(t, fmt.Sprintf(`, "go": [%q]`, version)), sources(t, tiny), dir)[0]
	if p.Go != version || p.Path != filepath.Join(dir, "torture-"+version) {
		t.Errorf("%+v", p)
	}
}

// A program of a recorded plan that is there is taken, without sources and without a go command; another one is not.
func TestTaken(t *testing.T) {
	folder, dir, plan := sources(t, tiny), t.TempDir(), ofMain(t, "")
	first := provided(t, plan, folder, dir)[0]
	recorded := ofMain(t, "")
	recorded.Programs = []campaign.Program{first.Program}
	t.Setenv("PATH", t.TempDir())
	if again := provided(t, recorded, t.TempDir(), dir)[0]; again.Program != first.Program {
		t.Errorf("%+v, want %+v", again, first)
	}
	for _, unlike := range []*campaign.Plan{plan, func() *campaign.Plan {
		other := ofMain(t, "")
		other.Programs = []campaign.Program{{SHA256: "0123"}}
		return other
	}()} {
		_, err := Programs(t.Context(), unlike, folder, dir)
		wantSaid(t, err, "there is no go command")
	}
}

// What keeps a campaign from beginning is said before.
func TestNoProgramCanBeBuilt(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	for _, tc := range []struct{ plan, main, word string }{
		{`, "go": ["go1.99.0"]`, tiny, "GOTOOLCHAIN=go1.99.0 go list"},
		{"", "package other", "./torture is package other"},
		{"", "package main", "function main is undeclared"},
		{"", "package main\nfunc main() { panic(\"no \\x1b[2J\") }", `panic: no \u001b[2J`},
		{"", `package main; import "os"; func main() { os.Exit(2) }`, "exit status 2"},
		{"", `package main; func main() { println("unknown command part") }`, "unknown command part"},
	} {
		_, err := Programs(t.Context(), ofMain(t, tc.plan), sources(t, tc.main), t.TempDir())
		wantSaid(t, err, tc.word)
	}
	_, plan := writePlan(t, `"go": ["go1.99.0"], "jobs": [{"kinds": ["lock"], "recipes": ["ours"], "exact": true}]`)
	_, err := Programs(t.Context(), plan, "", t.TempDir())
	wantSaid(t, err, "exact jobs by go1.99.0")
}

func wantSaid(t *testing.T, err error, word string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), word) {
		t.Errorf("error %v, want one that says %q", err, word)
	}
}

// A package of a module is built by its version, as that of the command torture-campaign if this program was installed.
func TestFromModule(t *testing.T) {
	proxy, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"list":        "v1.2.3\n",
		"v1.2.3.info": `{"Version": "v1.2.3"}`,
		"v1.2.3.mod":  "module example.com/own\n",
		"v1.2.3.zip": zipped(t, "example.com/own@v1.2.3/go.mod", "module example.com/own\n",
			"example.com/own@v1.2.3/torture/main.go", tiny),
	} {
		write(t, filepath.Join(proxy, "example.com/own/@v", name), text)
	}
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(proxy))
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	b := build{main: "example.com/own/torture@v1.2.3", file: filepath.Join(dir, "torture-go1")}
	if err := b.fromModule(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := Program{Path: b.file}
	if err := p.describe(t.Context(), ofMain(t, "")); err != nil || p.Build != "tiny" {
		t.Errorf("%+v, %v", p, err)
	}
	if left := contents(t, dir); len(left) != 1 {
		t.Errorf("%v is left", left)
	}
	b.main = "example.com/own/torture@v1.2.4"
	wantSaid(t, b.fromModule(t.Context()), "v1.2.4")
}

// zipped is a zip archive of names and texts.
func zipped(t *testing.T, files ...string) string {
	t.Helper()
	var out strings.Builder
	w := zip.NewWriter(&out)
	for ; len(files) > 0; files = files[2:] {
		f, err := w.Create(files[0])
		if err == nil {
			_, err = io.WriteString(f, files[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Units of exact jobs are run by a build in exact mode of the same sources, though the program does not know where
// these are; and without a main torture-campaign is built for a version of Go.
func TestExact(t *testing.T) {
	testkit.NeedExact(t)
	version, _, _ := strings.Cut(runtime.Version(), " ")
	file, plan := writePlan(t, fmt.Sprintf(`"episodes": 20, "unit": 10, "go": [%q], "jobs": [
		{"kinds": ["lock"], "recipes": ["ours"]}, {"kinds": ["lock"], "recipes": ["ours"], "exact": true}]`, version))
	r := New(Config{Plan: plan, File: file, Programs: provided(t, plan, "", t.TempDir())})
	defer r.Close()
	for n := range 2 {
		result := wantUnit(t, r, n)
		if result.Part.Episodes != 10 {
			t.Errorf("unit %d has %d episodes", n, result.Part.Episodes)
		}
	}
	if c := r.children[variant{version, true}]; c == nil || !c.ready.Exact || c == r.children[variant{version, false}] {
		t.Errorf("the children are %v", r.children)
	}
}
