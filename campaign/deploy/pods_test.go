package deploy

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"
)

// manifest is what the tests read of an object. What it leaves out, Kubernetes's schema has checked.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string // of a ConfigMap
	Spec     struct {
		CompletionMode       string
		Completions          int
		BackoffLimitPerIndex int
		Template             struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
		Selector map[string]string // of a Service
		Ports    []struct {
			Name, TargetPort string
			Port             int
		}
	}
}

// pod is what runs containers.
type pod struct {
	ActiveDeadlineSeconds        int
	AutomountServiceAccountToken *bool
	SecurityContext              struct {
		RunAsNonRoot   bool
		RunAsUser      int
		SeccompProfile struct{ Type string }
	}
	Containers []container
	Volumes    []struct {
		Name                  string
		ConfigMap             struct{ Name string }
		PersistentVolumeClaim struct{ ClaimName string }
		Secret                struct{ SecretName string }
		EmptyDir              *struct{}
	}
}

type container struct {
	Image           string
	Command, Args   []string
	Env             []struct{ Name, Value string }
	VolumeMounts    []struct{ Name, MountPath, SubPath string }
	Ports           []containerPort
	Resources       struct{ Requests, Limits map[string]string }
	SecurityContext struct {
		AllowPrivilegeEscalation *bool
		ReadOnlyRootFilesystem   bool
		Capabilities             struct{ Drop []string }
	}
}

type containerPort struct {
	Name          string
	ContainerPort int
}

// objects are the objects of a folder, by kind and name without the digest of what they contain.
func objects(t *testing.T, dir string) map[string]manifest {
	t.Helper()
	found := map[string]manifest{}
	for text := range strings.SplitSeq(string(rendered(t, dir)), "\n---\n") {
		var m manifest
		if err := yaml.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		name := m.Metadata.Name
		if m.Kind == "ConfigMap" {
			name = name[:strings.LastIndex(name, "-")]
		}
		found[m.Kind+" "+name] = m
	}
	return found
}

// machine runs the containers of pods as processes of this machine. What is mounted in them is in folders of its own.
type machine struct {
	t       *testing.T
	bin     string // what the image has in /usr/local/bin
	dir     string
	objects map[string]manifest
	network *strings.Replacer // of addresses of the cluster by those of this machine
}

func newMachine(t *testing.T, dir string) *machine {
	bin, err := image()
	if err != nil {
		t.Fatal(err)
	}
	return &machine{t, bin, t.TempDir(), objects(t, dir), strings.NewReplacer()}
}

// run runs a pod to its end. Its environment is what the manifest says, and its folder stays empty.
func (m *machine) run(p pod, env ...string) (output string, err error) {
	m.t.Helper()
	cmd := m.command(p, env...)
	out, err := cmd.CombinedOutput()
	if left, _ := os.ReadDir(cmd.Dir); len(left) > 0 {
		m.t.Errorf("%v wrote %v into the image's file system, which is read-only", cmd.Args, left)
	}
	return string(out), err
}

// command is the process of a pod's container.
func (m *machine) command(p pod, env ...string) *exec.Cmd {
	m.t.Helper()
	c := p.Containers[0]
	places := m.places(p)
	for _, e := range c.Env {
		env = append(env, e.Name+"="+placed(places, e.Value))
	}
	var args []string
	for _, a := range append(c.Command, c.Args...) {
		args = append(args, m.network.Replace(placed(places, a)))
	}
	cmd := exec.CommandContext(m.t.Context(), args[0], args[1:]...)
	cmd.Dir = m.t.TempDir()
	cmd.Env = append(env, "TMPDIR="+places["/tmp"])
	return cmd
}

// places are folders of this machine by where they are mounted in a pod.
func (m *machine) places(p pod) map[string]string {
	places := map[string]string{"/usr/local/bin": m.bin}
	for _, mount := range p.Containers[0].VolumeMounts {
		dir := m.volume(p.shared(m.t, mount.Name))
		if mount.SubPath == "" {
			places[mount.MountPath] = dir
			continue
		}
		file := placed(places, mount.MountPath) // in the volume that is mounted there
		if err := os.Symlink(filepath.Join(dir, mount.SubPath), file); err != nil && !os.IsExist(err) {
			m.t.Fatal(err)
		}
	}
	return places
}

// shared is the name by which pods share a volume, "" for one of the pod alone.
func (p pod) shared(t *testing.T, volume string) string {
	t.Helper()
	for _, v := range p.Volumes {
		if v.Name == volume {
			return cmp.Or(v.ConfigMap.Name, v.PersistentVolumeClaim.ClaimName, v.Secret.SecretName)
		}
	}
	t.Fatalf("there is no volume %s", volume)
	return ""
}

// volume is the folder of a volume: one of its own if it has no name.
func (m *machine) volume(name string) string {
	m.t.Helper()
	if name == "" {
		return m.t.TempDir()
	}
	dir := filepath.Join(m.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		m.t.Fatal(err)
	}
	for _, object := range m.objects {
		if object.Metadata.Name != name {
			continue
		}
		for file, text := range object.Data {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	return dir
}

// placed replaces the place of a mount at the beginning of an argument, or of its value.
func placed(places map[string]string, arg string) string {
	name, value, ok := strings.Cut(arg, "=")
	if !ok {
		name, value = "", arg
	} else {
		name += "="
	}
	for mounted, dir := range places {
		if value == mounted || strings.HasPrefix(value, mounted+"/") {
			return name + dir + strings.TrimPrefix(value, mounted)
		}
	}
	return arg
}

// shared is a folder that TestMain removes; "" if no test has made it.
var shared string

// TestMain removes what tests share.
func TestMain(m *testing.M) {
	status := m.Run()
	if shared != "" {
		os.RemoveAll(shared)
	}
	os.Exit(status)
}

// image is a folder with what the Containerfile puts into the image: its lines that build are run here. Only that they
// are linked with C's library, if there is one, differs: so nothing is compiled that other tests have not compiled.
var image = sync.OnceValues(func() (string, error) {
	out, err := os.MkdirTemp("", "zktorture-image-*")
	if err != nil {
		return "", err
	}
	shared = out
	lines, err := containerfile()
	for _, line := range lines {
		switch what, rest, _ := strings.Cut(line, " "); what {
		case "RUN":
			build := exec.Command("sh", "-c", strings.ReplaceAll(rest, "/out/", `"$out"/`))
			build.Env = append(os.Environ(), "out="+out) // which may have a space
			build.Dir = "../.."
			if text, wrong := build.CombinedOutput(); wrong != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w\n%s", rest, wrong, text))
			}
		case "COPY":
			if built := "--from=build /out/ /usr/local/bin/"; rest != ". ." && rest != built {
				err = errors.Join(err, fmt.Errorf("the image is made by COPY %s; this test knows %s", rest, built))
			}
		}
	}
	return out, err
})

// containerfile are the Containerfile's lines.
func containerfile() ([]string, error) {
	text, err := os.ReadFile("Containerfile")
	return strings.Split(string(text), "\n"), err
}

// The image has no C library, and its user has no name.
func TestTheImageNeedsNothing(t *testing.T) {
	lines, err := containerfile()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"ENV CGO_ENABLED=0", "FROM scratch", fmt.Sprintf("USER %d:%[1]d", user)} {
		if !slices.Contains(lines, line) {
			t.Errorf("the Containerfile does not say %s", line)
		}
	}
}
