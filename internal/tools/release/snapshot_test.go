//go:build linux

package release

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

const (
	repository = "../../.."
	dist       = repository + "/out/dist"
	ours       = "github.com/zktorture/zktorture"
)

// artifact is one of those that goreleaser lists.
type artifact struct{ Name, Path, Goos, Goarch, Type string }

func artifacts(t *testing.T, kind string) (all []artifact) {
	t.Helper()
	var every []artifact
	if err := json.Unmarshal(content(t, dist+"/artifacts.json"), &every); err != nil {
		t.Fatal(err)
	}
	for _, a := range every {
		if a.Type == kind {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		t.Fatalf("nothing that was built is a %s", kind)
	}
	return all
}

func content(t *testing.T, name string) []byte {
	t.Helper()
	all, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	name, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// inRoot is a command that sees root, a folder, as all that there is.
func inRoot(root, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = "/", []string{"HOME=/"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
	return cmd
}

// mainJob has torture pass a correct lock and fail a broken one.
func mainJob(t *testing.T, root, program string) {
	t.Helper()
	for args, want := range map[string]int{
		"run lock --episodes 50": 0, "run lock --recipe published/WriteLock --episodes 2000": 1, "explain nothing.json": 2,
	} {
		cmd := inRoot(root, program, strings.Fields(args)...)
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
			t.Errorf("%s %s: %v, want exit status %d:\n%s", program, args, err, want, said)
		}
	}
}

func TestArchives(t *testing.T) {
	sums := string(content(t, dist+"/checksums.txt"))
	for _, a := range artifacts(t, "Archive") {
		t.Run(a.Name, func(t *testing.T) {
			file := filepath.Join(repository, a.Path)
			sum := sha256.Sum256(content(t, file))
			if line := hex.EncodeToString(sum[:]) + "  " + a.Name + "\n"; !strings.Contains(sums, line) {
				t.Errorf("checksums.txt has no line %q", line)
			}
			root := t.TempDir()
			if a.Goos == "windows" {
				do(t, root, nil, "unzip", "-q", absolute(t, file))
				folders, err := filepath.Glob(root + "/*")
				if err != nil || len(folders) != 1 {
					t.Fatalf("it has %v, not one folder", folders)
				}
				root = folders[0]
			} else {
				do(t, root, nil, "tar", "-xf", absolute(t, file), "--strip-components", "1")
			}
			suffix := ""
			if a.Goos == "windows" {
				suffix = ".exe"
			}
			for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "THIRD_PARTY_NOTICES", "man/torture.1",
				"man/torture-run.1", "man/torture-campaign.1", "completions/torture.bash", "completions/torture-campaign.fish"} {
				if len(content(t, filepath.Join(root, name))) == 0 {
					t.Errorf("%s is empty", name)
				}
			}
			for _, program := range []string{"torture", "torture-mcp", "torture-campaign"} {
				info, err := buildinfo.ReadFile(filepath.Join(root, program+suffix))
				if err != nil {
					t.Fatal(err)
				}
				for key, want := range map[string]string{"GOOS": a.Goos, "GOARCH": a.Goarch, "CGO_ENABLED": "0", "-trimpath": "true"} {
					if i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key && s.Value == want }); i < 0 {
						t.Errorf("%s was not built with %s=%s: %v", program, key, want, info.Settings)
					}
				}
			}
			if a.Goos == runtime.GOOS && a.Goarch == runtime.GOARCH {
				mainJob(t, root, "/torture")
				if said, err := inRoot(root, "/torture-campaign", "--version").CombinedOutput(); err != nil {
					t.Errorf("torture-campaign --version: %v: %s", err, said)
				}
			}
		})
	}
}

// The list of a program's parts names each module that the program says it is made of.
func TestSBOMs(t *testing.T) {
	lists := map[string]artifact{}
	for _, a := range artifacts(t, "SBOM") {
		lists[a.Name] = a
	}
	for _, a := range artifacts(t, "Binary") {
		info, err := buildinfo.ReadFile(filepath.Join(repository, a.Path))
		if err != nil {
			t.Fatal(err)
		}
		pattern := regexp.MustCompile(`^` + strings.TrimSuffix(a.Name, ".exe") + `_.*_` + a.Goos + `_` + a.Goarch + `\.cdx\.json$`)
		var list struct {
			Components []struct{ Name, Version string }
		}
		for name, l := range lists {
			if pattern.MatchString(name) {
				if err := json.Unmarshal(content(t, filepath.Join(repository, l.Path)), &list); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		for _, dep := range info.Deps {
			if !slices.ContainsFunc(list.Components, func(c struct{ Name, Version string }) bool { return c.Name == dep.Path }) {
				t.Errorf("%s of %s/%s: no list names %s", a.Name, a.Goos, a.Goarch, dep.Path)
			}
		}
	}
}

// A wheel installs with nothing but itself, and brings the program and its module for pytest.
func TestWheels(t *testing.T) {
	wheels, err := filepath.Glob(repository + "/out/wheel/*.whl")
	if err != nil || len(wheels) != len(artifacts(t, "Archive")) {
		t.Fatalf("there are the wheels %v, want one for each archive", wheels)
	}
	sums := string(content(t, dist+"/checksums.txt"))
	for _, wheel := range wheels {
		sum := sha256.Sum256(content(t, wheel))
		if line := hex.EncodeToString(sum[:]) + "  " + filepath.Base(wheel) + "\n"; !strings.Contains(sums, line) {
			t.Errorf("checksums.txt has no line %q", line)
		}
	}
	env := t.TempDir()
	do(t, env, nil, "python3", "-m", "venv", ".")
	do(t, env, nil, "bin/pip", "install", "-q", "--no-index", "--find-links", absolute(t, repository+"/out/wheel"), "zktorture", "--pre")
	mainJob(t, env, "/bin/torture")
	do(t, env, nil, "bin/python", "-c", "import zktorture")
}

// The cask for Homebrew names archives that are there, with their sums.
func TestCask(t *testing.T) {
	for _, a := range artifacts(t, "Homebrew Cask") {
		cask := string(content(t, filepath.Join(repository, a.Path)))
		version := regexp.MustCompile(`version "(.*)"`).FindStringSubmatch(cask)
		named := regexp.MustCompile(`url "([^"]*)"\s*sha256 "([0-9a-f]{64})"`).FindAllStringSubmatch(cask, -1)
		if version == nil || len(named) != 4 {
			t.Fatalf("want a version, and an archive for two systems with two processors each:\n%s", cask)
		}
		for _, archive := range named {
			name := path.Base(strings.ReplaceAll(archive[1], "#{version}", version[1]))
			if sum := sha256.Sum256(content(t, filepath.Join(dist, name))); hex.EncodeToString(sum[:]) != archive[2] {
				t.Errorf("%s has another sum than the cask says", name)
			}
		}
	}
}

// Who starts the image without arguments has a ZooKeeper on its usual port.
func TestImage(t *testing.T) {
	index, err := layout.ImageIndexFromPath(dist + "/image")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) == 1 { // a layout's index may name the image's
		if index, err = index.ImageIndex(manifest.Manifests[0].Digest); err != nil {
			t.Fatal(err)
		}
		if manifest, err = index.IndexManifest(); err != nil {
			t.Fatal(err)
		}
	}
	i := slices.IndexFunc(manifest.Manifests, func(d v1.Descriptor) bool { return d.Platform.Architecture == runtime.GOARCH })
	if i < 0 || len(manifest.Manifests) != 2 {
		t.Fatalf("the image is for %v", manifest.Manifests)
	}
	image, err := index.Image(manifest.Manifests[i].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	files := mutate.Extract(image)
	defer files.Close()
	unpack := exec.Command("tar", "-x", "-C", root)
	unpack.Stdin = files
	if said, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, said)
	}
	mainJob(t, root, config.Config.Entrypoint[0])

	serve := inRoot(root, config.Config.Entrypoint[0], append(config.Config.Entrypoint[1:], config.Config.Cmd...)...)
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	serve.Stderr = serve.Stdout
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { serve.Process.Kill(); serve.Wait() })
	var said bytes.Buffer
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if strings.Contains(lines.Text(), ":2181") {
			conn, err := net.Dial("tcp", "127.0.0.1:2181")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprint(conn, "ruok")
			if answer, err := io.ReadAll(conn); string(answer) != "imok" {
				t.Errorf("ruok: %q, %v", answer, err)
			}
			return
		}
	}
	t.Fatalf("it does not serve on port 2181:\n%s", &said)
}

// Commands can be installed by go install from what tags name, with no word of where other modules are.
func TestGoInstall(t *testing.T) {
	const version = "v0.1.0"
	tree, proxy := t.TempDir(), t.TempDir()
	do(t, repository, nil, "sh", "-c", `git ls-files -z | xargs -0 cp --parents -t "$1"`, "sh", tree)
	do(t, tree, nil, "git", "init", "-q")
	do(t, tree, nil, "git", "add", ".")
	do(t, tree, nil, "make", "versions", "VERSION="+version)
	modules := map[string]bool{}
	for _, of := range []string{"/cmd/torture", "/cmd/torture-mcp", "/campaign"} {
		modules[of] = true
		for _, m := range regexp.MustCompile(ours+`(\S*) v`).FindAllSubmatch(content(t, filepath.Join(tree, of, "go.mod")), -1) {
			modules[string(m[1])] = true
		}
	}
	for of := range modules {
		publish(t, proxy, module.Version{Path: ours + of, Version: version}, filepath.Join(tree, of))
	}
	cached := strings.TrimSpace(do(t, repository, nil, "go", "env", "GOMODCACHE")) + "/cache/download"
	root := t.TempDir()
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw", "GOMODCACHE="+t.TempDir(), "GOBIN="+root, "CGO_ENABLED=0",
		"GOPROXY=file://"+proxy+",file://"+cached+","+strings.TrimSpace(do(t, repository, nil, "go", "env", "GOPROXY")),
		"GONOSUMDB="+ours+","+ours+"/*")
	for _, command := range []string{"/cmd/torture", "/cmd/torture-mcp", "/campaign/torture-campaign"} {
		do(t, root, env, "go", "install", ours+command+"@"+version)
	}
	mainJob(t, root, "/torture")
	if said := do(t, root, env, root+"/torture-campaign", "--version"); !strings.Contains(said, version) {
		t.Errorf("torture-campaign says that it is %s", said)
	}
}

// publish puts a module where the go command finds it.
func publish(t *testing.T, proxy string, v module.Version, dir string) {
	t.Helper()
	at := filepath.Join(proxy, v.Path, "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	zip, err := os.Create(filepath.Join(at, v.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer zip.Close()
	if err := modzip.CreateFromDir(zip, v, dir); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		v.Version + ".mod": string(content(t, filepath.Join(dir, "go.mod"))), "list": v.Version + "\n",
		v.Version + ".info": `{"Version":"` + v.Version + `"}`,
	} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func do(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &errs)
	}
	return string(out)
}
