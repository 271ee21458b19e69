package server_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
)

// Four-letter words are answered as by Apache's server: the same lines, with the same values but for what is measured.
// conf and mntr leave some out, and say nothing that Apache's does not.
func TestWordsAsApache(t *testing.T) {
	apache := ensembletest.Start(t, 1).Servers()[0]
	fake := fakezktest.Start(t, server.Config{}).Addr(0)
	for _, address := range []string{apache, fake} {
		dialRaw(t, address, wire.ConnectResponse{})
	}
	for _, word := range []string{"ruok", "isro", "srvr"} {
		if d := cmp.Diff(unmeasured(ask(t, apache, word)), unmeasured(ask(t, fake, word))); d != "" {
			t.Errorf("%s: -Apache +fake: %s", word, d)
		}
	}
	for word, separator := range map[string]string{"conf": "=", "mntr": "\t"} {
		theirs := names(ask(t, apache, word), separator)
		for _, name := range names(ask(t, fake, word), separator) {
			if !slices.Contains(theirs, name) {
				t.Errorf("%s: Apache's server says nothing of %s", word, name)
			}
		}
	}
}

// measured is what differs from run to run.
var measured = regexp.MustCompile(`(?m)^(Zookeeper version|Latency .*|Received|Sent|Zxid): .*`)

func unmeasured(text string) string { return measured.ReplaceAllString(text, "$1") }

// names are what stands before the separator in each line.
func names(text, separator string) (all []string) {
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), separator)
		all = append(all, name)
	}
	return all
}
