// Package workers has no code in Go: it tests what is here for teams that write Python and Java.
package workers

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture"
	_ "github.com/zktorture/zktorture/cmd/torture/serving" // torture serve
)

const (
	python = "/usr/bin/python3"
	jars   = "/usr/share/java/"
)

// asTorture has this binary be the command torture.
const asTorture = "ZKTORTURE_WORKERS_AS_TORTURE"

func TestMain(m *testing.M) {
	if os.Getenv(asTorture) != "" {
		zktorture.Main()
	}
	os.Exit(m.Run())
}

// need skips a test without what it needs, and returns torture.
func need(t *testing.T, packages string, there bool) string {
	t.Helper()
	if testing.Short() || !there {
		t.Skipf("it needs seconds, and %s, which `make tools` installs as root on Debian", packages)
	}
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// run runs a program, and returns what it says and whether it succeeded.
func run(t *testing.T, name string, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", asTorture+"=1")
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	return string(out), err == nil
}

func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, ok := run(t, name, args...)
	if !ok {
		t.Fatalf("%s %q failed:\n%s", name, args, out)
	}
	return out
}

// A wheel that is installed without a network is a fixture of pytest: a suite that uses reset, faults and expiries
// passes, and one with a broken lock fails.
func TestWheelInPytest(t *testing.T) {
	program := need(t, "python3-kazoo python3-pytest python3-venv",
		exec.Command(python, "-c", "import kazoo, pytest, ensurepip").Run() == nil)
	dir := t.TempDir()
	wheel := pack(t, dir, "v0.1.0", "linux/amd64", program)
	own := filepath.Join(dir, "venv", "bin") + "/"
	must(t, python, "-m", "venv", "--system-site-packages", filepath.Join(dir, "venv"))
	must(t, own+"python", "-m", "pip", "install", "--no-index", "--no-deps", wheel)
	must(t, own+"torture", "--version")
	must(t, own+"python", "-c", "import zktorture; zktorture.serve")
	if out, passed := run(t, own+"python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "testdata/test_lock.py"); !passed {
		t.Error(out)
	}
	out, passed := run(t, own+"python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "testdata/test_broken.py")
	if passed || !strings.Contains(out, "AssertionError: the lock of a session that has expired is still held") {
		t.Error(out)
	}
}

func pack(t *testing.T, to, version, target, program string) (wheel string) {
	t.Helper()
	name := must(t, python, "python/wheel.py", to, version, target, program, "../LICENSE")
	return filepath.Join(to, strings.TrimSpace(name))
}

// There is a wheel for whatever releases are for. Equal files make equal wheels, whatever their times.
func TestWheels(t *testing.T) {
	if _, err := os.Stat(python); err != nil {
		t.Skip("there is no " + python + ": apt-get install python3")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := regexp.MustCompile(`(?m)^TARGETS := (.*)$`).FindSubmatch(makefile)[1]
	var wheels []string
	for target := range strings.FieldsSeq(string(targets)) {
		wheel := pack(t, dir, "v1.2.0-rc.3", target, program)
		wheels = append(wheels, filepath.Base(wheel))
		first, err := os.ReadFile(wheel)
		if err != nil {
			t.Fatal(err)
		}
		must(t, "touch", "-d", "2001-02-03", program)
		if again, err := os.ReadFile(pack(t, dir, "v1.2.0-rc.3", target, program)); err != nil || !bytes.Equal(again, first) {
			t.Errorf("%s: another wheel of the same files differs, or %v", target, err)
		}
		holds(t, wheel, target)
	}
	want := []string{
		"manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
		"manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
		"macosx_12_0_x86_64", "macosx_12_0_arm64", "win_amd64", "win_arm64",
	}
	for i, tags := range want {
		want[i] = "zktorture-1.2.0rc3-py3-none-" + tags + ".whl"
	}
	if !slices.Equal(wheels, want) {
		t.Errorf("%q, want %q", wheels, want)
	}
	for said, version := range map[string]string{"Unreleased": "0.0.0.dev0", "v0.1.0": "0.1.0", "0.1.0-snapshot.ab1": "0.1.0.dev0+snapshot.ab1"} {
		if wheel := pack(t, dir, said, "linux/amd64", program); !strings.Contains(wheel, "/zktorture-"+version+"-py3-") {
			t.Errorf("%s: %s", said, wheel)
		}
	}
}

// holds checks the files of a wheel, and that its program may be run.
func holds(t *testing.T, wheel, target string) {
	t.Helper()
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	program := "torture"
	if strings.HasPrefix(target, "windows/") {
		program += ".exe"
	}
	var names []string
	for _, f := range archive.File {
		names = append(names, strings.ReplaceAll(f.Name, "zktorture-1.2.0rc3.", ""))
		if executable := f.Mode()&0o111 != 0; executable != strings.HasPrefix(filepath.Base(f.Name), "torture") {
			t.Errorf("%s: %v", f.Name, f.Mode())
		}
	}
	want := []string{"zktorture.py", "zktorture_pytest.py", "data/scripts/" + program, "dist-info/LICENSE", "dist-info/METADATA",
		"dist-info/WHEEL", "dist-info/entry_points.txt", "dist-info/RECORD"}
	if !slices.Equal(names, want) {
		t.Errorf("%s has %q", target, names)
	}
}

// The extension of JUnit, with Curator as the client.
func TestExtensionOfJUnit(t *testing.T) {
	var classpath []string
	there := true
	for name := range strings.FieldsSeq(`curator-recipes junit-jupiter-api junit-jupiter-engine junit-platform-commons
		junit-platform-console junit-platform-engine junit-platform-launcher junit-platform-reporting
		apiguardian-api opentest4j opentest4j-reporting-events opentest4j-reporting-schema picocli`) {
		_, err := os.Stat(jars + name + ".jar")
		there = there && err == nil
		classpath = append(classpath, jars+name+".jar")
	}
	_, err := exec.LookPath("javac")
	program := need(t, "libcurator-recipes-java default-jdk-headless junit5", there && err == nil)
	classes := t.TempDir()
	path := strings.Join(append(classpath, classes), ":")
	must(t, "javac", "--release", "17", "-Xlint:all,-path,-classfile", "-Werror", "-d", classes, "-cp", path, "java/ZkTorture.java")
	must(t, "javac", "-d", classes, "-cp", path, "testdata/LockTest.java")
	out := must(t, "java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dtorture="+program, "-cp", path,
		"org.junit.platform.console.ConsoleLauncher", "-c", "LockTest", "--disable-banner", "--fail-if-no-tests")
	if !regexp.MustCompile(`\b6 tests successful`).MatchString(out) {
		t.Error(out)
	}
}
