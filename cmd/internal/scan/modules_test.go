package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/internal/testkit"
)

// pinned are modules of other projects, and what is found in them: each finding was read in their code, and is true
// (results/scan.md). go-kit's is clean.
var pinned = map[string]string{
	"github.com/go-zookeeper/zk@v1.0.4":   "Lock: found orphan",
	"github.com/docker/libkv@v0.2.1":      "Locker: found orphan, Zookeeper: clean",
	"github.com/kvtools/zookeeper@v1.0.2": "Locker: found orphan, Store: clean",
	"github.com/openconfig/gnmi-gateway@v0.12.0": "ZookeeperNonBlockingLock: found progress, ZookeeperClusterMember: look, " +
		"ZookeeperConnectionManager: clean",
	"github.com/go-kit/kit@v0.13.0": "Client: clean, Instancer: clean, Registrar: clean",
}

// In modules of other projects that is found which is known to be there, and nothing else. It takes the network, three
// minutes of a processor, and ZKTORTURE_THOROUGH=all.
func TestPinnedModules(t *testing.T) {
	if !testkit.Thorough() {
		t.Skip("fetches and builds modules of other projects: ZKTORTURE_THOROUGH=all runs it")
	}
	for module, want := range pinned {
		t.Run(module, func(t *testing.T) {
			var out bytes.Buffer
			s := &ScanCmd{Packages: []string{module}, Out: filepath.Join(t.TempDir(), "tried"), Episodes: 300, Seed: 1, JSON: true}
			err := s.Run(scan(t, &out))
			if verdict := console.VerdictError(0); err != nil && !errors.As(err, &verdict) {
				t.Fatal(err)
			}
			var results []result
			if err := json.Unmarshal(out.Bytes(), &results); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range results {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s: %s %s", r.Type, r.Outcome, r.Property)))
			}
			if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("want -, got +\n%s\n%s", diff, out.String())
			}
		})
	}
}
