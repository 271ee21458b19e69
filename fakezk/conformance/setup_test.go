package conformance_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/live/ensemble"
)

// setup is what the servers of a transcript are told beside the usual: the fake by its configuration, the real ones
// by lines of zoo.cfg and arguments of Java.
type setup struct {
	cfg         fakezk.Config
	config, jvm []string
}

// super is the digest of super:test.
const super = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="

// setups are those of the transcripts that need one, by name.
var setups = map[string]setup{
	"wire": { // nothing happens by time
		cfg:    fakezk.Config{Super: super, MinSession: 60_000, MaxSession: 600_000, ReapInterval: 1 << 45},
		config: []string{"minSessionTimeout=60000", "maxSessionTimeout=600000"},
		jvm: []string{
			"-Dzookeeper.DigestAuthenticationProvider.superDigest=" + super, "-Dznode.container.checkIntervalMs=2147483647",
		},
	},
}

func setupOf(file string) setup { return setups[strings.TrimSuffix(filepath.Base(file), ".txt")] }

func (s setup) fake() fakezk.Config {
	s.cfg.Tick, s.cfg.TTL = tick.Milliseconds(), true
	s.cfg.ReapInterval = cmp.Or(s.cfg.ReapInterval, reapInterval.Milliseconds())
	s.cfg.MaxSession = cmp.Or(s.cfg.MaxSession, lasting.Milliseconds())
	return s.cfg
}

// lines are those of zoo.cfg.
func (s setup) lines() []string {
	return append([]string{fmt.Sprintf("maxSessionTimeout=%d", lasting.Milliseconds())}, s.config...)
}

// startReal starts real servers, which end with the test.
func startReal(t testing.TB, with setup) *ensemble.Ensemble {
	t.Helper()
	jvm := slices.Concat([]string{"-Dznode.container.checkIntervalMs=100"}, with.jvm)
	e, err := ensemble.Start(t.Context(), ensemble.Options{Nodes: max(with.cfg.Replicas, 1), Tick: tick, JVM: jvm, Config: with.lines()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// showZxid is a transaction's number in its epoch, which the fake has one of.
func showZxid(zxid int64) int64 {
	if zxid < 0 {
		return zxid
	}
	return zxid & 0xffffffff
}
