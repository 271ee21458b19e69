package suites_test

import (
	"flag"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
)

var update = flag.Bool("update", false, "record in testdata what real servers lead to now")

// whole is whether all is run, on real servers too.
var whole = os.Getenv("ZKTORTURE_SUITES") == "all"

// tick is that of all servers.
const tick = 500 * time.Millisecond

// setup is what servers are told beside the usual: the fake by its configuration, the real ones by lines of zoo.cfg
// and arguments of Java. They remove no empty containers, if it does not say when: what a scenario finds would depend
// on the minute in which it runs.
type setup struct {
	cfg         fakezk.Config
	config, jvm []string
}

// side is servers to use.
type side struct {
	connect string
	control string // a URL; "" if there is none
}

// startReal starts real servers, which end with the test.
func startReal(t *testing.T, with setup) side {
	t.Helper()
	e, err := ensemble.Start(t.Context(), ensemble.Options{
		Nodes: max(with.cfg.Replicas, 1), Tick: tick, Config: with.config,
		JVM: append([]string{"-Dznode.container.checkIntervalMs=2147483647"}, with.jvm...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	return side{connect: e.ConnectString()}
}

// startFake starts what torture serve runs.
func startFake(t *testing.T, with setup) side {
	t.Helper()
	cfg := with.cfg
	cfg.Tick, cfg.TTL = tick.Milliseconds(), true
	if cfg.ReapInterval == 0 {
		cfg.ReapInterval = 1 << 45
	}
	servers := fakezktest.Start(t, server.Config{Ensemble: cfg})
	control := httptest.NewServer(servers.Control())
	t.Cleanup(control.Close)
	return side{servers.ConnectString(), control.URL}
}

// compare plays something on the fake, and on real servers if all is run. What comes of it must be what the file says.
func compare(t *testing.T, file string, with setup, play func(*testing.T, side) string) {
	if whole || *update {
		t.Run("real", func(t *testing.T) {
			got := play(t, startReal(t, with))
			if *update && !t.Failed() {
				write(t, file, got)
			}
			same(t, testkit.File(t, file), got)
		})
	}
	t.Run("fake", func(t *testing.T) { same(t, testkit.File(t, file), play(t, startFake(t, with))) })
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, want, got string) {
	t.Helper()
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("(-recorded +got):\n%s", d)
	}
}

// need skips a test if something that it needs is not there; if all is to be run, that is an error.
func need(t *testing.T, what string, there bool, packages string) {
	t.Helper()
	testkit.NeedServers(t)
	switch {
	case there:
	case whole || *update:
		t.Fatalf("%s is not here: `make live` installs %s as root on Debian", what, packages)
	default:
		t.Skipf("%s is not here: `make live` installs %s as root on Debian", what, packages)
	}
}

// exists is whether there are such files.
func exists(files ...string) bool {
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			return false
		}
	}
	return true
}

// onPath is whether there are such programs.
func onPath(programs ...string) bool {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return false
		}
	}
	return true
}
