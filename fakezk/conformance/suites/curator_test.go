package suites_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/zktorture/zktorture/fakezk"
)

const jars = "/usr/share/java/"

// curatorRuns are the servers that Curator is used on, and the scenarios there.
var curatorRuns = []struct {
	name, scenarios string
	setup
}{
	{"curator", "Acls|Barriers|Basics|Caches|Configs.tracked|Counters|Leaders|Locks|Nodes|Queues|Sessions|Transactions|" +
		"Watches", setup{}},
	{"curator_reaping", "Reaping", setup{cfg: fakezk.Config{ReapInterval: 100},
		jvm: []string{"-Dznode.container.checkIntervalMs=100"}}},
	{"curator_ensemble", "Sessions|Watches|Locks|Leaders", setup{cfg: fakezk.Config{Replicas: 3}}},
}

// TestCurator uses Curator's recipes.
func TestCurator(t *testing.T) {
	need(t, "Curator", exists(jars+"curator-recipes.jar") && onPath("java", "javac"),
		"libcurator-recipes-java and default-jdk-headless")
	t.Parallel()
	classpath := compile(t)
	for _, with := range curatorRuns {
		t.Run(with.name, func(t *testing.T) {
			compare(t, filepath.Join("testdata", with.name+".txt"), with.setup, func(t *testing.T, at side) string {
				return runCurator(t, classpath, at, with.scenarios)
			})
		})
	}
}

// compile compiles the scenarios and returns a class path.
func compile(t *testing.T) string {
	t.Helper()
	classes := t.TempDir()
	sources, err := filepath.Glob("curator/*.java")
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-d", classes,
		"-cp", jars + "curator-recipes.jar"}, sources...)
	if out, err := exec.CommandContext(t.Context(), "javac", args...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	return jars + "curator-recipes.jar:" + classes
}

func runCurator(t *testing.T, classpath string, at side, scenarios string) string {
	t.Helper()
	args := []string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp", classpath}
	if at.control != "" {
		args = append(args, "-Dcontrol="+at.control)
	}
	cmd := exec.CommandContext(t.Context(), "java", append(args, "Suite", at.connect, scenarios)...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %v\n%s%s", cmd, err, out, errors.Bytes())
	}
	return string(out)
}
