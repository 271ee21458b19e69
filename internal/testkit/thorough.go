package testkit

import (
	"os"
	"testing"
)

// Thorough reports whether tests take all that there is to take (ZKTORTURE_THOROUGH=all). In make test they take a little.
func Thorough() bool { return os.Getenv("ZKTORTURE_THOROUGH") == "all" }

// Sized is how much a test takes: a little, or all.
func Sized[T any](little, all T) T {
	if Thorough() {
		return all
	}
	return little
}

// NeedExact skips a test that builds programs in exact mode, for which Go's library is compiled anew, unless make exact
// runs it.
func NeedExact(t testing.TB) {
	t.Helper()
	if os.Getenv("ZKTORTURE_EXACT") == "" {
		t.Skip("builds Go's library in exact mode: make exact runs it")
	}
}

// NeedServers skips a test of real ZooKeeper servers, or of clients in other languages, unless make live runs it.
func NeedServers(t testing.TB) {
	t.Helper()
	if os.Getenv("ZKTORTURE_SERVERS") == "" {
		t.Skip("starts real ZooKeeper servers: make live runs it")
	}
}
