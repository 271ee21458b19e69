package zkclient_test

import (
	"strings"
	"testing"
	"time"
)

// patience is far longer than anything here takes.
const patience = 20 * time.Second

// wantError fails unless err says all the words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that says %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error does not say %q:\n%v", word, err)
		}
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for tick := time.NewTicker(10 * time.Millisecond); !so(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
