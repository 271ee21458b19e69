package suites_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestZkCli uses the command line client of Java.
func TestZkCli(t *testing.T) {
	need(t, "zkCli", exists(jars+"zookeeper.jar", jars+"commons-cli.jar") && onPath("java"),
		"libzookeeper-java, libcommons-cli-java and default-jre-headless")
	t.Parallel()
	compareTerminal(t, "testdata/zkcli.txt", setup{}, zkCli)
}

func zkCli(t *testing.T, at side) *terminal {
	classpath := strings.Join([]string{jars + "zookeeper.jar", jars + "zookeeper-jute.jar", jars + "commons-cli.jar",
		jars + "slf4j-api.jar"}, ":")
	c := run(t, "java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp", classpath,
		"org.apache.zookeeper.ZooKeeperMain", "-waitforconnection", "-server", at.connect)
	c.settle, c.settled, c.shown = zkCliSettle, zkCliSettled, zkCliShown
	c.reported = regexp.MustCompile(`^WatchedEvent `)
	c.listed = regexp.MustCompile(`^$`)
	c.do("sync /")
	return c
}

// Behind each command comes one that prints a marker in any state; then a write to a znode with a persistent watch,
// whose event the client prints behind all others; then the marker again.
const (
	zkCliSettle = "redo 99999\naddWatch -m PERSISTENT " + zkCliWatched + "\nset " + zkCliWatched + " x\nredo 99999\n"
	zkCliMarker = "Command index out of range"
	// It is there always, so that the tree remains as it is.
	zkCliWatched = "/zookeeper/quota"
)

// zkCliSettled returns a function that is called with each line and says whether it comes from what is behind the
// command, and whether all has been printed.
func zkCliSettled() func(string) (behind, done bool) {
	markers, told, closed := 0, false, false
	return func(line string) (behind, done bool) {
		switch {
		case line == zkCliMarker:
			markers++
		case strings.HasSuffix(line, "type:NodeDataChanged path:"+zkCliWatched):
			told = true
		case markers == 1 && line == "Not connected":
			closed = true
		}
		return markers > 0, markers == 2 && (told || closed)
	}
}

var zkCliHidden = regexp.MustCompile(`^(WATCHER::|WatchedEvent state:Closed .*|` + zkCliMarker + `|SLF4J: .*|.* path:` +
	zkCliWatched + `|\s*)$`)

var zkCliReplaced = []struct {
	old *regexp.Regexp
	new string
}{
	{regexp.MustCompile(`^([cm]time = ).*`), "${1}TIME"},
	{regexp.MustCompile(`0x[0-9a-f]{9,}`), "ID"},
	{regexp.MustCompile(`version: .*`), "version: N"},
}

// zkCliShown shows neither times nor ids nor ports.
func zkCliShown(line string) string {
	if zkCliHidden.MatchString(line) {
		return ""
	}
	for _, r := range zkCliReplaced {
		line = r.old.ReplaceAllString(line, r.new)
	}
	return line
}
