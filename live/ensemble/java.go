package ensemble

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// javaOldest is the first version of Java that knows all flags that servers are started with.
const javaOldest = 11

const javaAdvice = "install Java 11 or newer (Debian, Ubuntu: `apt-get install default-jre-headless`) " +
	"and put java on PATH, or set JAVA_HOME to its folder"

// FindJava returns the path of the java program: that of JAVA_HOME if it is set, else the first
// one on PATH. It is an error if there is none, if it does not run, or if it is older than 11.
func FindJava(ctx context.Context) (string, error) {
	java, err := lookUpJava()
	if err != nil {
		return "", err
	}
	version, err := javaVersion(ctx, java)
	if err != nil {
		return "", err
	}
	if version < javaOldest {
		return "", fmt.Errorf("ensemble: %s is Java %d: %s", java, version, javaAdvice)
	}
	return java, nil
}

func lookUpJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java, err := exec.LookPath(filepath.Join(home, "bin", "java"))
		if err != nil {
			return "", fmt.Errorf("ensemble: JAVA_HOME is %s, but that has no bin/java: "+
				"correct it, or unset it to use PATH", home)
		}
		return java, nil
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("ensemble: no Java found: %s", javaAdvice)
	}
	return java, nil
}

// noTrace keeps Java from writing a file in the system's temporary folder, which would stay if it is killed.
const noTrace = "-XX:-UsePerfData"

// javaVersion asks the program, which answers `openjdk version "17.0.15" …` or, before Java 9,
// `java version "1.8.0_352"`.
func javaVersion(ctx context.Context, java string) (int, error) {
	out, err := exec.CommandContext(ctx, java, noTrace, "-version").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("ensemble: %s -version: %w: %s: %s", java, err, firstLine(string(out)), javaAdvice)
	}
	found := javaVersionPattern.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("ensemble: %s -version says %q, which names no version: %s",
			java, firstLine(string(out)), javaAdvice)
	}
	return strconv.Atoi(string(found[1]))
}

var javaVersionPattern = regexp.MustCompile(`version "(?:1\.)?(\d+)`)
