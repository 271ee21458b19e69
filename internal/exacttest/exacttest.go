// Package exacttest is for tests that build programs in exact mode, for which Go's library is compiled anew.
package exacttest

import (
	"os"
	"testing"
)

// Need skips a test unless make exact runs it.
func Need(t testing.TB) {
	t.Helper()
	if os.Getenv("ZKTORTURE_EXACT") == "" {
		t.Skip("builds Go's library in exact mode: make exact runs it")
	}
}
