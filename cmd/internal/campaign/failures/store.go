package failures

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/sim"
)

// Store is a folder of failures.
type Store struct{ dir string }

// Open opens the store in a folder. It need not be there: the first [Store.Record] makes it.
func Open(dir string) (*Store, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("failures: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("failures: %s is a file: a store is a folder", dir)
	}
	return &Store{dir}, nil
}

// path is the name of a file within the store, which has slashes, as the system has it.
func (s *Store) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// add writes a file, unless it is there as it has to be: its name says its content, so one that differs is damaged.
func (s *Store) add(name string, content []byte) error {
	if there, err := os.ReadFile(s.path(name)); err == nil && bytes.Equal(there, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		return err
	}
	return wholefile.Write(s.path(name), content)
}

// contents is what the store has.
type contents struct {
	nights   []night // in the order of their times
	problems []string
}

// night is a file of a night, with its name within the store.
type night struct {
	name string
	nightFile
}

func (c *contents) problem(name, format string, args ...any) {
	c.problems = append(c.problems, name+": "+fmt.Sprintf(format, args...))
}

// told are the problems, each once, by the names of the files.
func (c *contents) told() []string { return slices.Compact(slices.Sorted(slices.Values(c.problems))) }

// read reads all nights. A file that cannot count is a problem, and no error.
func (s *Store) read() (*contents, error) {
	c := &contents{}
	if err := s.list(c, nightsDir, nightName, "20260131T235959Z-0123456789abcdef.json", s.readNight); err != nil {
		return nil, err
	}
	none := func(*contents, string, string) error { return nil }
	such := "the SHA-256 of its content, with .json"
	if err := s.list(c, counterexamplesDir, counterexampleName, such, none); err != nil {
		return nil, err
	}
	c.nights = slices.CompactFunc(c.nights, c.twice)
	return c, nil
}

// list calls one for the files of a folder that are named as they have to be, with what the name says of the content, in
// the order of their names: for nights that of their times.
// Hidden files are nobody's business.
func (s *Store) list(c *contents, dir string, names *regexp.Regexp, such string,
	one func(c *contents, name, sum string) error) error {
	entries, err := os.ReadDir(s.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("failures: %w", err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch m := names.FindStringSubmatch(e.Name()); {
		case strings.HasPrefix(e.Name(), "."):
		case strings.HasSuffix(e.Name(), ".tmp"):
			c.problem(name, "was not written to its end: remove it, if no campaign is just being recorded")
		case m == nil || !e.Type().IsRegular():
			c.problem(name, "is not of this store, in which a file is called such as %s: move it away", such)
		default:
			if err := one(c, name, m[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) readNight(c *contents, name, sum string) error {
	content, err := os.ReadFile(s.path(name))
	if err != nil {
		return fmt.Errorf("failures: %w", err)
	}
	n := night{name: name}
	switch err := json.Unmarshal(content, &n.nightFile); {
	case digest(content)[:len(sum)] != sum:
		c.problem(name, "is damaged, and this night does not count: its content is not what its name says; "+
			"get it from another copy of the store")
	case err != nil:
		c.problem(name, "is not a night of a campaign: %v; move it away", err)
	case n.Format != nightFormat:
		c.problem(name, "does not count: its format is %q, and this version reads %q; "+
			"use the version that has written it", n.Format, nightFormat)
	default:
		c.nights = append(c.nights, n)
	}
	return nil
}

// twice reports whether two nights that follow each other are one campaign. It is recorded twice, by people who do not
// agree, as otherwise the files would be one. The first counts.
func (c *contents) twice(a, b night) bool {
	if !a.Began.Equal(b.Began) || a.Digest != b.Digest {
		return false
	}
	c.problem(b.name, "does not count: %s is the same campaign, and says otherwise; move one of them away", a.name)
	return true
}

// counterexample reads a counterexample.
func (s *Store) counterexample(sum string) (*sim.Counterexample, error) {
	name := counterexampleFile(sum)
	content, err := os.ReadFile(s.path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: is missing, and cannot be run again: get it from another copy of the store", name)
	case err != nil:
		return nil, err
	case digest(content) != sum:
		return nil, fmt.Errorf("%s: is damaged, and cannot be run again: its content is not what its name says; "+
			"get it from another copy of the store", name)
	}
	example, err := sim.ReadCounterexample(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w; move it away", name, err)
	}
	return example, nil
}

func counterexampleFile(sum string) string { return path.Join(counterexamplesDir, sum+".json") }
