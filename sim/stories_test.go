package sim_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// ephemeralLock is the README's lock, with some of the mends that come to mind one after the other.
type ephemeralLock struct {
	conn        recipes.Conn
	path        string
	looksAgain  bool // when the znode that it was to watch has gone
	knowsLosing bool // a lock that is gone when it is to be unlocked has been lost
	tries       int  // of a delete
}

func (l *ephemeralLock) Lock(ctx context.Context) error {
	for {
		_, err := l.conn.Create(l.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
		exists, _, gone, err := l.conn.ExistsW(l.path)
		if err != nil {
			return err
		}
		if !exists && l.looksAgain {
			continue
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *ephemeralLock) Unlock(context.Context) (err error) {
	for range l.tries {
		if err = l.conn.Delete(l.path, -1); err != zk.ErrConnectionClosed {
			break
		}
	}
	if l.knowsLosing && err == zk.ErrNoNode {
		return recipes.ErrLost
	}
	return err
}

func ephemeral(l ephemeralLock) sim.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		own := l
		own.conn, own.path = c, path
		return &own
	})
}

// broken returns a recipe that is broken: one of these, or a kind and a recipe.
func broken(t *testing.T, name string) sim.Workload {
	t.Helper()
	switch name {
	case "readme":
		return ephemeral(ephemeralLock{tries: 1})
	case "readme-mended":
		return ephemeral(ephemeralLock{tries: 1, looksAgain: true})
	case "readme-mended-twice":
		return ephemeral(ephemeralLock{tries: 1, looksAgain: true, knowsLosing: true})
	case "readme-tries":
		return ephemeral(ephemeralLock{tries: 3, looksAgain: true, knowsLosing: true})
	case "small":
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return &smallLock{conn: c, path: path}
		})
	case "panics":
		return workload.Lock(func(recipes.Conn, string) workload.Locker { return panicker{} })
	case "leaves":
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return leaver{recipes.NewLock(c, path), waitForNobody}
		})
	case "mended":
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return recipes.NewLock(c, path) })
	case "crasher":
		return workload.Lock(newCrasher)
	}
	kind, recipe, _ := strings.Cut(name, "/")
	return find(t, kind, recipe)
}

// TestAsChild is a test only in a child process: it checks one recipe with each of some seeds.
func TestAsChild(t *testing.T) {
	words := strings.Fields(os.Getenv(childEnv))
	if len(words) < 2 || words[0] != "test" {
		t.Skip("only in a child process")
	}
	if frozen[words[1]].new != nil {
		sim.Check(t, frozenWorkload(words[1]), sim.WithSeed(1))
	}
	if workloads := outliving[words[1]]; workloads != nil {
		sim.Check(t, workloads(), sim.WithSeed(1), sim.WithClients(1), sim.WithEpisodes(20), sim.WithFaults("none"))
	}
	for _, word := range words[2:] {
		t.Run(word, func(t *testing.T) {
			seed, err := strconv.ParseUint(word, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sim.Check(t, broken(t, words[1]), sim.WithSeed(seed))
		})
	}
}

// brokenRecipes are some that are found in each of twenty times two thousand episodes.
var brokenRecipes = strings.Fields(`
	readme readme-mended readme-mended-twice readme-tries small panics leaves lock/broken queue/broken`)

// checksVar is "all" for every recipe with 20 seeds; that takes a quarter of an hour.
const checksVar = "ZKTORTURE_CHECKS"

// Whatever is checked, with whatever seed: a test of a broken recipe ends with a story.
func TestCheckEndsWithAStory(t *testing.T) {
	names, seeds := brokenRecipes, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"
	if os.Getenv(checksVar) == "" {
		names, seeds = []string{"leaves", "lock/broken"}, "21"
		names = names[:testkit.Share(len(names))]
	}
	told := 0
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out, status := childIn(t, dir, "test "+name+" "+seeds, nil)
			tests := regexp.MustCompile(`(?m)^ *=== RUN +TestAsChild/.*\n`).Split(out, -1)[1:]
			if status != 1 || len(tests) != len(strings.Fields(seeds)) {
				t.Fatalf("status %d after %d tests:\n%s", status, len(tests), tail(out))
			}
			for _, text := range tests {
				if problem := testkit.NoStory("stories_test.go", text); problem != "" {
					t.Errorf("%s:\n%s", problem, text)
				} else {
					told++
				}
			}
		})
	}
	t.Logf("%d stories", told)
}

// tail is the end of a text.
func tail(text string) string { return text[max(0, len(text)-4000):] }
