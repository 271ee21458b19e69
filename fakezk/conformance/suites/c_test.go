package suites_test

import (
	"regexp"
	"testing"
)

// cClient is the command line client in C, with threads.
const cClient = "/usr/lib/zookeeper/bin/cli_mt"

// TestCClient uses the client in C.
func TestCClient(t *testing.T) {
	need(t, "the C client", exists(cClient), "zookeeper-bin")
	t.Parallel()
	compareTerminal(t, "testdata/c.txt", setup{}, startCClient)
}

func startCClient(t *testing.T, at side) *terminal {
	c := run(t, cClient, at.connect)
	c.settle, c.settled, c.shown = "get "+cMarked+"\n", cSettled, cShown
	c.reported = regexp.MustCompile(`^$`)       // events are in order with answers
	c.listed = regexp.MustCompile(`^\t[^ =]+$`) // children
	c.do("sync /")
	return c
}

// The answer to a last request is behind all events and answers before. There never is such a znode.
const cMarked = "/zookeeper/none"

func cSettled() func(string) (behind, done bool) {
	answered := false
	return func(line string) (behind, done bool) {
		answered = answered || line == cMarked+": rc = -101"
		return answered, answered && line == "null"
	}
}

var (
	cHidden = regexp.MustCompile(`^(\s*|.*ZOO_(INFO|WARN|DEBUG|ERROR)@.*|time = \d+ msec|Stat:|` + cMarked +
		`: rc = -101)$`)
	cTime    = regexp.MustCompile(`([cm]time ?= ?).*`)
	cSession = regexp.MustCompile(`(ephemeralOwner = )[0-9a-f]{2,}`)
)

// cShown shows neither times nor sessions.
func cShown(line string) string {
	if cHidden.MatchString(line) {
		return ""
	}
	return cSession.ReplaceAllString(cTime.ReplaceAllString(line, "${1}TIME"), "${1}SESSION")
}
