package ensemble_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
)

// These tests never reach the network: apt-get, dpkg-deb and java are scripts of their own.

const aptGet = `echo "$PWD $@" >> "$APT_LOG"
shift 2
for name; do echo > "${name}_1_all.deb"; done`

const dpkgDeb = `mkdir -p "$3/usr/share/java"
case "$2" in
*libzookeeper-java_*) jars="zookeeper zookeeper-jute" ;;
*libslf4j-java_*) jars="slf4j-api slf4j-simple" ;;
*libdropwizard-metrics-java_*) jars=metrics-core ;;
*libsnappy-java_*) jars=snappy-java ;;
esac
for jar in $jars; do echo > "$3/usr/share/java/$jar.jar"; done`

// programs makes the scripts the first on PATH, or the only ones.
func programs(t *testing.T, only bool, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, body := range scripts {
		script := "#!/bin/sh\nset -e\n" + body + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := dir
	if !only {
		path += string(os.PathListSeparator) + os.Getenv("PATH")
	}
	t.Setenv("PATH", path)
}

// emptyCache makes Fetch download, with the scripts given, and returns the cache folder and the
// downloads so far.
func emptyCache(t *testing.T, scripts map[string]string) (cache string, downloads func() int) {
	t.Helper()
	nothing := t.TempDir()
	t.Cleanup(ensemble.SetInstalled(nothing))
	programs(t, false, scripts)
	cache = filepath.Join(t.TempDir(), "cache")
	log := filepath.Join(t.TempDir(), "apt.log")
	t.Setenv("ZKTORTURE_CACHE", cache)
	t.Setenv("ZOOKEEPER_HOME", "")
	t.Setenv("APT_LOG", log)
	return cache, func() int {
		lines, _ := os.ReadFile(log)
		return bytes.Count(lines, []byte("\n"))
	}
}

func wantEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s has %q, want %q", filepath.Base(dir), got, want)
	}
}

func TestFetchDownloadsOnce(t *testing.T) {
	cache, downloads := emptyCache(t, map[string]string{"apt-get": aptGet, "dpkg-deb": dpkgDeb})
	for range 2 {
		classpath, err := ensemble.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(classpath) != 6 {
			t.Errorf("class path %q, want six jars", classpath)
		}
	}
	if downloads() != 1 {
		t.Errorf("%d downloads, want 1", downloads())
	}
	wantEntries(t, cache, "zookeeper")
}

// Of several that download at once one is taken.
func TestFetchByManyAtOnce(t *testing.T) {
	cache, _ := emptyCache(t, map[string]string{"apt-get": aptGet, "dpkg-deb": dpkgDeb})
	var all errgroup.Group
	for range 4 {
		all.Go(func() error {
			_, err := ensemble.Fetch(t.Context())
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
	wantEntries(t, cache, "zookeeper")
}

func TestFetchRepairsItsCache(t *testing.T) {
	cache, downloads := emptyCache(t, map[string]string{"apt-get": aptGet, "dpkg-deb": dpkgDeb})
	damaged := filepath.Join(cache, "zookeeper", "usr", "share", "java")
	abandoned := filepath.Join(cache, "fetch-123") // by a process that was killed
	for _, dir := range []string{damaged, abandoned} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ensemble.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if downloads() != 1 {
		t.Errorf("%d downloads, want 1", downloads())
	}
	wantEntries(t, cache, "zookeeper")
}

func TestFetchFails(t *testing.T) {
	tests := []struct {
		name, aptGet, dpkgDeb string
		says                  []string
	}{
		{"old package lists", `echo "E: Failed to fetch http://192.0.2.1/x.deb  404  Not Found" >&2; exit 100`, dpkgDeb,
			[]string{"404"}},
		{"no network", `echo "E: Failed to fetch http://192.0.2.1/x.deb  Could not connect" >&2; exit 100`, dpkgDeb,
			[]string{"run `apt-get update`", "Could not connect", "ZOOKEEPER_HOME"}},
		{"a package is missing", "echo > a.deb", dpkgDeb, []string{"1 packages were downloaded", "has no zookeeper.jar"}},
		{"a damaged package", aptGet, `echo "dpkg-deb: error: not a Debian format archive" >&2; exit 2`,
			[]string{"dpkg-deb -x", "not a Debian format archive"}},
		{"other contents", aptGet, `mkdir -p "$3"`, []string{"has no zookeeper.jar"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cache, _ := emptyCache(t, map[string]string{"apt-get": test.aptGet, "dpkg-deb": test.dpkgDeb})
			_, err := ensemble.Fetch(t.Context())
			wantError(t, err, test.says...)
			leftovers, _ := filepath.Glob(filepath.Join(cache, "fetch-*"))
			if leftovers != nil {
				t.Errorf("left behind: %q", leftovers)
			}
		})
	}
}

func TestFetchWithoutApt(t *testing.T) {
	emptyCache(t, nil)
	programs(t, true, nil)
	_, err := ensemble.Fetch(t.Context())
	wantError(t, err, "apt-get", "not found", "libzookeeper-java", "ZOOKEEPER_HOME")
}

func TestFetchIntoAFile(t *testing.T) {
	cache, _ := emptyCache(t, nil)
	if err := os.WriteFile(cache, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := ensemble.Fetch(t.Context())
	wantError(t, err, "set ZKTORTURE_CACHE")
}

func TestFetchEndsWithItsContext(t *testing.T) {
	_, downloads := emptyCache(t, map[string]string{"apt-get": "echo >> \"$APT_LOG\"; exec sleep 1000"})
	ctx, cancel := context.WithCancel(t.Context())
	failure := make(chan error, 1)
	go func() {
		_, err := ensemble.Fetch(ctx)
		failure <- err
	}()
	testkit.Until(t, "the download hangs", func() bool { return downloads() > 0 })
	cancel()
	if err := testkit.From(t, "it ends", failure); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFetchFromARelease(t *testing.T) {
	home := t.TempDir()
	t.Setenv("ZOOKEEPER_HOME", home)
	_, err := ensemble.Fetch(t.Context())
	wantError(t, err, "ZOOKEEPER_HOME is "+home, "zookeeper-<version>.jar")

	lib := filepath.Join(home, "lib")
	jute, jar := filepath.Join(lib, "zookeeper-jute-3.8.4.jar"), filepath.Join(lib, "zookeeper-3.8.4.jar")
	if err := errors.Join(os.Mkdir(lib, 0o755), os.WriteFile(jute, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	_, err = ensemble.Fetch(t.Context())
	wantError(t, err, "zookeeper-<version>.jar") // jute is not the server
	if err := os.WriteFile(jar, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	classpath, err := ensemble.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{jar, jute, filepath.Join(home, "conf")}; !slices.Equal(classpath, want) {
		t.Errorf("class path %q, want %q", classpath, want)
	}
}

// Releases have all jars in lib, with their versions.
func TestStartFromARelease(t *testing.T) {
	needsServers(t)
	classpath, err := ensemble.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	home := releaseOf(t, classpath)
	t.Setenv("ZOOKEEPER_HOME", home)
	found, err := ensemble.Fetch(t.Context())
	if err != nil || !strings.HasPrefix(found[0], home) {
		t.Fatalf("found %+v, %v; want what is in %s", found, err, home)
	}
	serves(t, start(t, ensemble.Options{}))
}

// releaseOf is a folder like that of a release, with links to the jars of the server.
func releaseOf(t *testing.T, classpath []string) (home string) {
	t.Helper()
	home = t.TempDir()
	err := errors.Join(os.Mkdir(filepath.Join(home, "lib"), 0o755), os.Mkdir(filepath.Join(home, "conf"), 0o755))
	for _, jar := range classpath {
		name, ok := strings.CutSuffix(filepath.Base(jar), ".jar")
		if !ok {
			continue
		}
		real, cannot := filepath.EvalSymlinks(jar)
		err = errors.Join(err, cannot, os.Symlink(real, filepath.Join(home, "lib", name+"-9.8.7.jar")))
	}
	if err != nil {
		t.Fatal(err)
	}
	return home
}

func TestStartWithoutJava(t *testing.T) {
	programs(t, true, nil)
	t.Setenv("JAVA_HOME", "")
	_, err := ensemble.Start(t.Context(), ensemble.Options{})
	wantError(t, err, "no Java found", "apt-get install default-jre-headless", "JAVA_HOME")

	t.Setenv("JAVA_HOME", t.TempDir())
	_, err = ensemble.Start(t.Context(), ensemble.Options{})
	wantError(t, err, "JAVA_HOME is", "no bin/java")
}
