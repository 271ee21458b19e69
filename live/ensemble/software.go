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
	"time"

	"github.com/zktorture/zktorture/internal/proc"
)

const (
	javaAdvice = "install Java 11 or newer (Debian, Ubuntu: `apt-get install default-jre-headless`) " +
		"and put java on PATH, or set JAVA_HOME to its folder"
	serverAdvice = "run `apt-get update` as root if the package lists are missing or old, and try again; or install " +
		"libzookeeper-java; or unpack a release of zookeeper.apache.org and set ZOOKEEPER_HOME to its folder"
)

// findJava returns the path of the java program: that of JAVA_HOME if it is set, else the first one on PATH.
func findJava() (string, error) {
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

// Fetch returns the class path of ZooKeeper's server. It looks, in this order, into
//
//  1. ZOOKEEPER_HOME, if set: an unpacked release of zookeeper.apache.org, from 3.5 on (lib/*.jar);
//  2. /usr/share/java, where the packages of Debian and Ubuntu put it;
//  3. the cache folder;
//
// and if it is in none of them, downloads Debian's four packages (2.3 MB) with apt-get and unpacks them into the
// cache folder; nothing is installed and root is not needed. The cache folder is ZKTORTURE_CACHE, or else zktorture
// in the user's cache folder ([os.UserCacheDir]). It is never seen half filled: what is unpacked gets its name by a
// rename. Of several processes that download at once the first one's is taken.
func Fetch(ctx context.Context) (classpath []string, err error) {
	if home := os.Getenv("ZOOKEEPER_HOME"); home != "" {
		return releaseIn(home)
	}
	if found, err := debianIn(installed); err == nil {
		return found, nil
	}
	cache := os.Getenv("ZKTORTURE_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("ensemble: no folder to keep ZooKeeper's server in: %w: set ZKTORTURE_CACHE to one", err)
		}
		cache = filepath.Join(dir, "zktorture")
	}
	final := filepath.Join(cache, "zookeeper")
	jars := filepath.Join(final, "usr", "share", "java")
	if found, err := debianIn(jars); err == nil {
		return found, nil
	}
	if err := fetchInto(ctx, cache, final); err != nil {
		return nil, err
	}
	return debianIn(jars)
}

// installed is where Debian's packages put jars. Only tests change it.
var installed = "/usr/share/java"

// releaseIn takes all jars of an unpacked release: from lib, and from the top, where releases before 3.5 have the
// server's own.
func releaseIn(home string) ([]string, error) {
	top, _ := filepath.Glob(filepath.Join(home, "*.jar")) // what is no pattern has no jars
	lib, _ := filepath.Glob(filepath.Join(home, "lib", "*.jar"))
	jars := append(top, lib...)
	if !slices.ContainsFunc(jars, func(jar string) bool { return serverJar.MatchString(filepath.Base(jar)) }) {
		return nil, fmt.Errorf("ensemble: ZOOKEEPER_HOME is %s, but there is no zookeeper-<version>.jar, "+
			"neither there nor in lib: set it to an unpacked release, or unset it to have the server downloaded", home)
	}
	return append(jars, filepath.Join(home, "conf")), nil // conf configures logging
}

// serverJar is the server's own: zookeeper-3.9.3.jar, but not zookeeper-jute-3.9.3.jar beside it.
var serverJar = regexp.MustCompile(`^zookeeper(-\d.*)?\.jar$`)

// debianPackages hold debianJars, which are what a server needs with the admin server off and without TLS.
var (
	debianPackages = []string{
		"libzookeeper-java", "libslf4j-java", "libdropwizard-metrics-java", "libsnappy-java",
	}
	debianJars = []string{
		"zookeeper.jar", "zookeeper-jute.jar", "slf4j-api.jar", "slf4j-simple.jar", "metrics-core.jar", "snappy-java.jar",
	}
)

func debianIn(dir string) (jars []string, err error) {
	for _, name := range debianJars {
		jar := filepath.Join(dir, name)
		if _, err := os.Stat(jar); err != nil {
			return nil, fmt.Errorf("ensemble: %s has no %s: %w", dir, name, err)
		}
		jars = append(jars, jar)
	}
	return jars, nil
}

// fetchInto downloads the packages into the cache folder and unpacks them to a folder there.
func fetchInto(ctx context.Context, cache, final string) error {
	err := os.MkdirAll(cache, 0o755)
	var folder *proc.Folder
	if err == nil {
		folder, err = proc.NewFolder(cache, "fetch-")
	}
	if err != nil {
		return fmt.Errorf("ensemble: ZooKeeper's server cannot be kept in %s: %w: set ZKTORTURE_CACHE to a folder that can be written",
			cache, err)
	}
	defer folder.Remove()
	if err := runIn(ctx, folder.Path, "apt-get", append([]string{"download", "-q"}, debianPackages...)...); err != nil {
		return err
	}
	packages, _ := filepath.Glob(filepath.Join(folder.Path, "*.deb"))
	for _, name := range packages {
		if err := runIn(ctx, folder.Path, "dpkg-deb", "-x", name, "root"); err != nil {
			return err
		}
	}
	root := filepath.Join(folder.Path, "root")
	if _, err := debianIn(filepath.Join(root, "usr", "share", "java")); err != nil {
		return fmt.Errorf("%w: %d packages were downloaded: %s", err, len(packages), serverAdvice)
	}
	err = os.Rename(root, final)
	if errors.Is(err, fs.ErrExist) { // another process was faster, or some of the files there have been removed
		if _, err := debianIn(filepath.Join(final, "usr", "share", "java")); err == nil {
			return nil
		}
		err = errors.Join(os.RemoveAll(final), os.Rename(root, final))
	}
	return err
}

// runIn runs a program of Debian's in a folder. The error says what can be done about it.
func runIn(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("ensemble: ZooKeeper's server is not on this machine, and cannot be downloaded: %s %s: %w\n%s%s",
			name, args[0], err, out, serverAdvice)
	}
	return nil
}
