package zkclient_test

import (
	"strings"
	"testing"
)

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
