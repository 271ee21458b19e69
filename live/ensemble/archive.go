package ensemble

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A class archive is a file with the server's classes as Java has them in memory (JEP 350). With one a server needs a
// third less processor time until it serves. Java ignores an archive of other jars or of another Java.

// archiveName is the archive in a member's folder.
const archiveName = "classes.jsa"

// MakeArchive makes sure that the cache folder has a class archive for this server and this Java, from 13 on, and
// returns its path. If there is none it starts and stops three servers, which takes a few seconds. [Start] uses it
// from then on; without one servers start more slowly.
func MakeArchive(ctx context.Context) (path string, err error) {
	java, err := FindJava(ctx)
	if err != nil {
		return "", err
	}
	software, err := Fetch(ctx)
	if err != nil {
		return "", err
	}
	path, err = software.archive(java)
	if err != nil || isFile(path) {
		return path, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", cacheError("make", err)
	}
	return path, recordArchive(ctx, path)
}

// recordArchive starts servers that write an archive when they end, and keeps that of a follower.
func recordArchive(ctx context.Context, path string) error {
	e, err := Start(ctx, Options{
		Nodes: 3, Dir: filepath.Dir(path), classes: []string{"-XX:ArchiveClassesAtExit=" + archiveName},
	})
	if err != nil {
		return err
	}
	defer e.Stop()
	leader, err := e.WaitLeader(ctx)
	if err != nil {
		return err
	}
	m := e.Member((leader + 1) % len(e.members))
	if err := m.Stop(); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(m.dir, archiveName), path); err != nil {
		return fmt.Errorf("ensemble: Java wrote no class archive: %w; %s", err, m.life().tail())
	}
	return nil
}

// archive is the path of the archive for this server and this Java. It changes when a jar does, or Java.
func (s *Software) archive(java string) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	key := sha256.New()
	for _, path := range append([]string{java}, s.Classpath...) {
		if err := identify(key, path); err != nil {
			return "", err
		}
	}
	return filepath.Join(cache, "classes-"+hex.EncodeToString(key.Sum(nil)[:8])+".jsa"), nil
}

// identify writes what tells a file from another version of it.
func identify(w io.Writer, path string) error {
	info, err := os.Stat(path)
	if os.IsNotExist(err) { // the folder of a release's logging configuration may be missing
		fmt.Fprintln(w, path)
		return nil
	}
	if err != nil {
		return fmt.Errorf("ensemble: %w", err)
	}
	fmt.Fprintln(w, path, info.Size(), info.ModTime().UnixNano())
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// useArchive returns the flags that make Java use the archive, if there is one, and be silent if it does not fit.
func (s *Software) useArchive(java string) []string {
	path, err := s.archive(java)
	if err != nil || !isFile(path) {
		return nil
	}
	return []string{"-XX:SharedArchiveFile=" + path, "-Xlog:cds=off", "-Xlog:cds+dynamic=off"}
}
