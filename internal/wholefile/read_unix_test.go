//go:build unix

package wholefile_test

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zktorture/zktorture/internal/wholefile"
)

// A file that has no end is read up to the limit, and a pipe that nobody writes to is waited for until the context
// ends.
func TestReadEnds(t *testing.T) {
	if _, err := wholefile.Read(t.Context(), "/dev/zero", 1<<20); err == nil || !strings.Contains(err.Error(), "larger than 1 MB") {
		t.Error(err)
	}
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := wholefile.Read(ctx, name, 1<<20); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
}
