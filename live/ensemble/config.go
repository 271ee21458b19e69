package ensemble

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// writeConfig writes what member i reads at its start into its folder.
func (o Options) writeConfig(dir string, i int, p ports, view []string) error {
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return fmt.Errorf("ensemble: cannot make the folder of a server: %w", err)
	}
	if err := writeFile(filepath.Join(data, "myid"), strconv.Itoa(i+1)+"\n"); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "zoo.cfg"), o.config(data, p, view))
}

func writeFile(path, content string) error {
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		return fmt.Errorf("ensemble: cannot configure a server: %w", err)
	}
	return nil
}

// config is zoo.cfg (ZooKeeper Administrator's Guide, "Configuration Parameters"). The view has the addresses of all
// members as the member sees them, "address:port:port".
func (o Options) config(data string, p ports, view []string) string {
	lines := []string{
		fmt.Sprintf("tickTime=%d", o.Tick.Milliseconds()),
		"initLimit=50",
		fmt.Sprintf("syncLimit=%d", o.SyncLimit),
		"dataDir=" + escapeProperty(data),
		fmt.Sprintf("clientPort=%d", p.client),
		"clientPortAddress=" + loopback,
		"admin.enableServer=false",
		"4lw.commands.whitelist=*",
		"maxClientCnxns=0",
	}
	if len(view) > 1 {
		lines = append(lines, "standaloneEnabled=false")
		for j, member := range view {
			lines = append(lines, fmt.Sprintf("server.%d=%s", j+1, member))
		}
	}
	return strings.Join(append(lines, o.Config...), "\n") + "\n"
}

// escapeProperty writes a value as Java's Properties reads it back.
func escapeProperty(s string) string { return strings.ReplaceAll(s, `\`, `\\`) }

// arguments are Java's: a small heap and a quick start, no files outside the member's folder, no fsync, no
// preallocation of log files to 64 MB, TTL znodes, and no log line for each four-letter word. A server that looks for
// a leader asks at least once a second instead of once a minute, so that it is back soon.
func (o Options) arguments(dir string) []string {
	arguments := []string{
		"-Xms16m", "-Xmx64m", "-Xss256k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-XX:ReservedCodeCacheSize=24m", "-XX:MaxMetaspaceSize=64m", "-XX:-UsePerfData",
		"-Djava.net.preferIPv4Stack=true",
		"-Djava.io.tmpdir=" + dir,
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.NIOServerCnxn=warn",
		"-Dzookeeper.fastleader.maxNotificationInterval=1000",
		"-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024", "-Dzookeeper.jmx.log4j.disable=true",
		"-Dzookeeper.nio.numSelectorThreads=1", "-Dzookeeper.nio.numWorkerThreads=2",
		"-Dzookeeper.commitProcessor.numWorkerThreads=1",
		"-Dzookeeper.extendedTypesEnabled=true",
		"-Dzookeeper.electionPortBindRetry=0",
	}
	arguments = append(arguments, o.JVM...)
	return append(arguments, "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(dir, "zoo.cfg"))
}
