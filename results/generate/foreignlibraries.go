package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/zktorture/zktorture/live/worker"
)

// foreignLibrary is a library with recipes served by an example.
type foreignLibrary struct {
	Version string // its own, and its runtime's
	command string // the argument of --recipe
	Shown   string // the same as shown to a reader, after exec:
}

// findLibraries finds both libraries, as installed by Debian's packages. Compiled files go to dir.
func findLibraries(ctx context.Context, dir string) (map[string]foreignLibrary, error) {
	kazoo, err := findKazoo(ctx, "/usr/bin/python3")
	if err != nil {
		return nil, err
	}
	curator, err := findCurator(ctx, "/usr/share/java", dir)
	if err != nil {
		return nil, err
	}
	return map[string]foreignLibrary{"kazoo": kazoo, "Curator": curator}, nil
}

// notHere is the error for a library that is not installed.
func notHere(library, needed string) error {
	return fmt.Errorf("%s is not here: %s; `make foreign` installs it as root on Debian", library, needed)
}

const kazooVersion = `import kazoo.version, platform
print("kazoo", kazoo.version.__version__ + ", Python", platform.python_version(), end="")`

// findKazoo asks Python for it.
func findKazoo(ctx context.Context, python string) (foreignLibrary, error) {
	version, err := exec.CommandContext(ctx, python, "-c", kazooVersion).Output()
	if err != nil {
		return foreignLibrary{}, notHere("kazoo", python+" must have it (Debian's package python3-kazoo)")
	}
	command := python + " examples/kazoo/worker.py"
	return foreignLibrary{string(version), worker.Foreign + command, command}, nil
}

// findCurator finds its jars in a folder and compiles the example into another.
func findCurator(ctx context.Context, jars, classes string) (foreignLibrary, error) {
	recipes, err := jarVersion(jars, "curator-recipes")
	if err != nil {
		return foreignLibrary{}, notHere("Curator", err.Error()+" (Debian's package libcurator-recipes-java)")
	}
	zookeeper, err := jarVersion(jars, "zookeeper")
	if err != nil {
		return foreignLibrary{}, notHere("Curator's ZooKeeper", err.Error()+" (Debian's package libzookeeper-java)")
	}
	classpath := filepath.Join(jars, "curator-recipes.jar")
	const library, source = "workers/java/Worker.java", "examples/curator/CuratorWorker.java"
	javac := exec.CommandContext(ctx, "javac", "-d", classes, "-cp", classpath, library, source)
	javac.Stdout, javac.Stderr = os.Stderr, os.Stderr
	if err := javac.Run(); err != nil {
		return foreignLibrary{}, notHere("a compiler for Curator's example",
			fmt.Sprintf("javac %s: %v (Debian's package default-jdk-headless)", source, err))
	}
	return foreignLibrary{
		Version: fmt.Sprintf("Curator %s with ZooKeeper's client %s", recipes, zookeeper),
		command: worker.Foreign + "exec java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 " +
			"-cp " + classpath + ":'" + classes + "' CuratorWorker",
		Shown: "java -cp " + classpath + ":out/curator CuratorWorker",
	}, nil
}

// jarVersion is the version in the name of a jar in a folder, as in curator-recipes-5.4.0.jar.
func jarVersion(jars, name string) (string, error) {
	all, err := filepath.Glob(filepath.Join(jars, name+"-[0-9]*.jar"))
	if err != nil || len(all) == 0 {
		return "", fmt.Errorf("there is no %s-VERSION.jar in %s", name, jars)
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(all[0]), name+"-"), ".jar"), nil
}
