package ensemble_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/live/ensemble"
)

func TestServersUseTheClassArchive(t *testing.T) {
	needsServers(t)
	software, err := ensemble.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZOOKEEPER_HOME", releaseOf(t, software, "lib"))
	cache := filepath.Join(t.TempDir(), "cache")
	t.Setenv("ZKTORTURE_CACHE", cache)
	if mapped(t, start(t, ensemble.Options{}), cache) {
		t.Error("a server uses an archive that was not made")
	}
	archive, err := ensemble.MakeArchive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := ensemble.MakeArchive(t.Context())
	if err != nil || again != archive {
		t.Errorf("asked again: %q, %v; want %q", again, err, archive)
	}
	wantEntries(t, cache, filepath.Base(archive))
	if !mapped(t, start(t, ensemble.Options{}), archive) {
		t.Error("a server does not use the archive")
	}

	if err := os.Chmod(archive, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive, []byte("not an archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	serves(t, start(t, ensemble.Options{})) // with an archive that is of no use
}

// mapped reports whether the first server has a file whose path begins so in its memory.
func mapped(t *testing.T, e *ensemble.Ensemble, path string) bool {
	t.Helper()
	pid, running := e.Member(0).Pid()
	if !running {
		t.Fatal("the server does not run")
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(maps), " "+path)
}
