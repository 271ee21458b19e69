package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/zktorture/zktorture/internal/testkit"
)

const (
	library  = "github.com/zktorture/zktorture"
	commands = library + "/cmd"
	release  = "v0.9.9-installed"
)

// proxy has a folder serve both modules as a module proxy does, in a version that they require each other in. It returns
// the environment of go commands that use it, with a module cache of their own that takes everything else from the user's.
func proxy(t *testing.T) (env []string) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	serve(t, dir, library, root)
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(root, "cmd"))); err != nil {
		t.Fatal(err)
	}
	mod := filepath.Join(copied, "go.mod")
	text, err := os.ReadFile(mod)
	if err != nil {
		t.Fatal(err)
	}
	required := strings.Replace(string(text), library+" v0.0.0", library+" "+release, 1)
	if err := os.WriteFile(mod, []byte(required), 0o644); err != nil || required == string(text) {
		t.Fatalf("go.mod of cmd does not require %s: %v", library, err)
	}
	serve(t, dir, commands, copied)
	return append(os.Environ(), "GOPROXY=file://"+dir+",file://"+goEnv(t, "GOMODCACHE")+"/cache/download", "GOSUMDB=off",
		"GOMODCACHE="+t.TempDir(), "GOFLAGS=-modcacherw", "GOWORK=off", "GOBIN="+t.TempDir())
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(goTool(t, "", os.Environ(), "env", name))
}

// serve adds a module to a proxy.
func serve(t *testing.T, proxy, path, dir string) {
	t.Helper()
	at := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]any{"Version": release, "Time": time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"list": []byte(release + "\n"), release + ".info": info, release + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(at, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Create(filepath.Join(at, release+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := zip.CreateFromDir(file, module.Version{Path: path, Version: release}, dir); err != nil {
		t.Fatal(err)
	}
}

func goTool(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return string(out)
}

// The command can be installed from a module proxy, and says which version it is. That compiles all that it is made of, so
// but for ZKTORTURE_THOROUGH=all only its packages are looked for.
func TestInstall(t *testing.T) {
	env := proxy(t)
	if !testkit.Thorough() {
		dir := t.TempDir()
		goTool(t, dir, env, "mod", "init", "example.com/mine")
		goTool(t, dir, env, "get", "-tool", commands+"/torture@"+release)
		goTool(t, dir, env, "list", "-deps", commands+"/torture")
		return
	}
	goTool(t, t.TempDir(), env, "install", commands+"/torture@"+release)
	bin, _ := strings.CutPrefix(env[len(env)-1], "GOBIN=")
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "torture"), "--version").Output()
	if err != nil || !strings.Contains(string(out), release) {
		t.Errorf("%v: %s", err, out)
	}
}

// lockTest is what a user writes first.
const lockTest = `package mine

import (
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

func TestLock(t *testing.T) {
	sim.Check(t, workload.Lock(func(conn recipes.Conn, path string) workload.Locker { return recipes.NewLock(conn, path) }))
}
`

// A module that tests a lock gets few modules, and nothing of the command.
func TestUsersGetLittle(t *testing.T) {
	env, dir := proxy(t), t.TempDir()
	for name, text := range map[string]string{
		"lock_test.go": lockTest,
		"go.mod":       fmt.Sprintf("module example.com/mine\n\ngo 1.26.0\n\nrequire %s %s\n", library, release),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	goTool(t, dir, env, "mod", "tidy")
	modules := strings.Fields(goTool(t, dir, env, "list", "-deps", "-test", "-f", "{{with .Module}}{{.Path}}{{end}}", "."))
	slices.Sort(modules)
	want := []string{"example.com/mine", "github.com/anishathalye/porcupine", "github.com/go-zookeeper/zk", library, "pgregory.net/rapid"}
	if got := slices.Compact(modules); !slices.Equal(got, want) {
		t.Errorf("the test is made of %q, want %q", got, want)
	}
}
