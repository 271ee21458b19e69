package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

const (
	python = "/usr/bin/python3"
	jars   = "/usr/share/java/"

	workers = "../../../workers/"
)

// need skips a test without what it needs, and returns torture.
func need(t *testing.T, packages string, there bool) string {
	t.Helper()
	testkit.NeedServers(t)
	if !there {
		t.Skipf("needs %s, which `make live` installs as root on Debian", packages)
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

// The library for Python is a fixture of pytest: a suite that uses reset, faults and expiries passes, and one with a broken
// lock fails.
func TestFixturesOfPytest(t *testing.T) {
	program := need(t, "python3-kazoo python3-pytest", exec.Command(python, "-c", "import kazoo, pytest").Run() == nil)
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "torture")); err != nil {
		t.Fatal(err)
	}
	library, err := filepath.Abs(workers + "python")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("PYTHONPATH", library)
	pytest := func(file string) (string, bool) {
		return run(t, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "zktorture_pytest", file)
	}
	if out, passed := pytest("testdata/test_lock.py"); !passed {
		t.Error(out)
	}
	out, passed := pytest("testdata/test_broken.py")
	if passed || !strings.Contains(out, "AssertionError: the lock of a session that has expired is still held") {
		t.Error(out)
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
	must(t, "javac", "--release", "17", "-Xlint:all,-path,-classfile", "-Werror", "-d", classes, "-cp", path, workers+"java/ZkTorture.java")
	must(t, "javac", "-d", classes, "-cp", path, "testdata/LockTest.java")
	out := must(t, "java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dtorture="+program, "-cp", path,
		"org.junit.platform.console.ConsoleLauncher", "-c", "LockTest", "--disable-banner", "--fail-if-no-tests")
	if !regexp.MustCompile(`\b6 tests successful`).MatchString(out) {
		t.Error(out)
	}
}
