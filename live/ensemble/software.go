package ensemble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Software is a ZooKeeper server on this machine, ready to be run by Java.
type Software struct {
	Classpath []string // jars, and the folder of the logging configuration if there is one
	Origin    string   // where it was found, for messages
}

// Fetch finds ZooKeeper's server. It looks, in this order, into
//
//  1. ZOOKEEPER_HOME, if set: an unpacked release of zookeeper.apache.org, from 3.5 on (lib/*.jar);
//  2. /usr/share/java, where the packages of Debian and Ubuntu put it;
//  3. the cache folder;
//
// and if it is in none of them, downloads Debian's four packages (2.3 MB) with apt-get and unpacks them into the
// cache folder; nothing is installed and root is not needed. The cache folder is ZKTORTURE_CACHE, or else zktorture
// in the user's cache folder ([os.UserCacheDir]). It is never seen half filled, and several processes may fetch at
// the same time.
func Fetch(ctx context.Context) (*Software, error) {
	if found, err := Find(); err == nil || os.Getenv("ZOOKEEPER_HOME") != "" {
		return found, err
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	return fetchDebian(ctx, cache)
}

// Find is [Fetch] without a download: an error says that the server is not on this machine yet.
func Find() (*Software, error) {
	if home := os.Getenv("ZOOKEEPER_HOME"); home != "" {
		return releaseIn(home)
	}
	if found, err := debianIn(installed, "installed packages in "+installed); err == nil {
		return found, nil
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	return unpacked(filepath.Join(cache, "zookeeper"))
}

// installed is where Debian's packages put jars. Only tests change it.
var installed = "/usr/share/java"

func cacheDir() (string, error) {
	if dir := os.Getenv("ZKTORTURE_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("ensemble: no folder to keep the server in: %w: set ZKTORTURE_CACHE to one", err)
	}
	return filepath.Join(dir, "zktorture"), nil
}

// releaseIn takes all jars of an unpacked release: from lib, and from the top, where releases before 3.5 have the
// server's own.
func releaseIn(home string) (*Software, error) {
	var jars []string
	for _, pattern := range []string{"*.jar", "lib/*.jar"} {
		found, err := filepath.Glob(filepath.Join(home, pattern))
		if err != nil {
			return nil, fmt.Errorf("ensemble: ZOOKEEPER_HOME %q: %w", home, err)
		}
		jars = append(jars, found...)
	}
	if !hasServer(jars) {
		return nil, fmt.Errorf("ensemble: ZOOKEEPER_HOME is %s, but there is no zookeeper-<version>.jar, "+
			"neither there nor in lib: set it to an unpacked release, or unset it to have the server downloaded", home)
	}
	return &Software{append(jars, filepath.Join(home, "conf")), "ZOOKEEPER_HOME " + home}, nil
}

// serverJar is the server's own: zookeeper-3.9.3.jar, but not zookeeper-jute-3.9.3.jar beside it.
var serverJar = regexp.MustCompile(`^zookeeper(-\d.*)?\.jar$`)

func hasServer(jars []string) bool {
	return slices.ContainsFunc(jars, func(jar string) bool { return serverJar.MatchString(filepath.Base(jar)) })
}

// debianJars are what a server needs with the admin server off and without TLS.
var debianJars = []string{
	"zookeeper.jar", "zookeeper-jute.jar", "slf4j-api.jar", "slf4j-simple.jar", "metrics-core.jar", "snappy-java.jar",
}

func debianIn(dir, origin string) (*Software, error) {
	found := &Software{Origin: origin}
	for _, name := range debianJars {
		jar := filepath.Join(dir, name)
		if _, err := os.Stat(jar); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("ensemble: %s has no %s", dir, name)
		} else if err != nil {
			return nil, fmt.Errorf("ensemble: %w", err)
		}
		found.Classpath = append(found.Classpath, jar)
	}
	return found, nil
}

// command is java with the server's class path.
func (s *Software) command(java string, args ...string) *exec.Cmd {
	classpath := strings.Join(s.Classpath, string(os.PathListSeparator))
	return exec.Command(java, append([]string{"-cp", classpath}, args...)...)
}

var versionPattern = regexp.MustCompile(`version (\d[\w.-]*)`)

// Version runs the server's version program with the given Java, which takes a fifth of a second, and returns for
// example "3.8.0".
func (s *Software) Version(java string) (string, error) {
	out, err := s.command(java, noTrace, "org.apache.zookeeper.version.VersionInfoMain").Output()
	if err != nil {
		return "", fmt.Errorf("ensemble: the server from %s does not run: %w: %s", s.Origin, err, stderrOf(err))
	}
	found := versionPattern.FindSubmatch(out)
	if found == nil {
		return "", fmt.Errorf("ensemble: the server from %s names no version: %q", s.Origin, firstLine(string(out)))
	}
	return string(found[1]), nil
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return firstLine(string(exit.Stderr))
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
