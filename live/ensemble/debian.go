package ensemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/live/ensemble/posix"
)

// debianPackages hold debianJars.
var debianPackages = []string{
	"libzookeeper-java", "libslf4j-java", "libdropwizard-metrics-java", "libsnappy-java",
}

const elsewhereAdvice = "or unpack a release of zookeeper.apache.org and set ZOOKEEPER_HOME to its folder"

// fetchDebian returns the server in the cache folder, and downloads it first if it is not there.
//
// Invariant: the folder zookeeper in the cache is complete, because it gets that name by a rename. Only the holder of
// the lock changes the cache; the lock ends with its process.
func fetchDebian(ctx context.Context, cache string) (*Software, error) {
	final := filepath.Join(cache, "zookeeper")
	if found, err := unpacked(final); err == nil {
		return found, nil
	}
	if err := posix.Allowed(); err != nil {
		return nil, fmt.Errorf("ensemble: cannot download ZooKeeper's server: %w", err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, cacheError("make", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(cache, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if found, err := unpacked(final); err == nil {
		return found, nil // another process was faster
	}
	if err := download(ctx, cache, final); err != nil {
		return nil, err
	}
	return unpacked(final)
}

func unpacked(dir string) (*Software, error) {
	return debianIn(filepath.Join(dir, "usr", "share", "java"), "Debian packages in "+dir)
}

func cacheError(verb string, err error) error {
	return fmt.Errorf("ensemble: cannot %s the cache folder: %w: "+
		"set ZKTORTURE_CACHE to one that can be written", verb, err)
}

// lockFile waits for the lock on a file, until ctx ends.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, cacheError("lock", err)
	}
	busy := poll(ctx, func() error { return posix.TryLock(file) })
	if busy != nil {
		file.Close()
		return nil, fmt.Errorf("ensemble: another process has held %s all the time: %w", path, busy)
	}
	return func() { file.Close() }, nil
}

// download fills a new folder and gives it its final name. It removes what an earlier process left half done, and a
// final folder that lost some of its files. It needs the lock.
func download(ctx context.Context, cache, final string) error {
	leftovers, _ := filepath.Glob(filepath.Join(cache, "fetch-*"))
	for _, dir := range append(leftovers, final) {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("ensemble: cannot clear the cache folder: %w", err)
		}
	}
	dir, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return fmt.Errorf("ensemble: cannot write into the cache folder: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := downloadInto(ctx, dir); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(dir, "root"), final); err != nil {
		return fmt.Errorf("ensemble: cannot move the unpacked server to its place: %w", err)
	}
	return nil
}

func downloadInto(ctx context.Context, dir string) error {
	if err := runIn(ctx, dir, "apt-get", append([]string{"download", "-q"}, debianPackages...)...); err != nil {
		return err
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(debs) != len(debianPackages) {
		return fmt.Errorf("ensemble: apt-get downloaded %d packages, not %d: try again, %s",
			len(debs), len(debianPackages), elsewhereAdvice)
	}
	for _, deb := range debs {
		if err := runIn(ctx, dir, "dpkg-deb", "-x", deb, "root"); err != nil {
			return err
		}
	}
	return nil
}

// runIn runs a program of Debian's. The error says what can be done about it.
func runIn(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("ensemble: ZooKeeper's server: %s did not finish in time: %w", name, ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("ensemble: ZooKeeper's server is not on this machine, and there is no %s to download it: "+
			"install the package libzookeeper-java if your system has it, %s", name, elsewhereAdvice)
	}
	return fmt.Errorf("ensemble: cannot download ZooKeeper's server: %s %s: %w: %s: %s",
		name, args[0], err, complaints(string(out)), aptAdvice(string(out)))
}

// complaints are the lines that begin with E: (errors of apt), or the last line if there is none.
func complaints(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := lines[len(lines)-1]
	found := slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "E: ") })
	return cmp.Or(strings.Join(found, "; "), last)
}

// aptAdvice tells the two usual causes apart. Without package lists apt knows no package; with old ones it looks for
// files that the mirror no longer has.
func aptAdvice(out string) string {
	for _, sign := range []string{"Unable to locate package", "No packages found", "Can't select candidate", "404 "} {
		if strings.Contains(out, sign) {
			return "apt's package lists are missing or old: run `apt-get update` as root and try again, " +
				elsewhereAdvice
		}
	}
	return "check the network and apt's sources and try again, " + elsewhereAdvice
}
