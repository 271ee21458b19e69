package ensemble

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// loopback is where everything listens, and nowhere else.
const loopback = "127.0.0.1"

// endpoints are the three ports of a member. Peer and election are not used when it is alone.
type endpoints struct{ client, peer, election int }

// freePorts returns n ports that nobody listened on a moment ago. Another process may take one
// before a server does, so starting has to cope with that.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n { // all are held until all are found, so that they differ
		listener, err := net.Listen("tcp4", loopback+":0")
		if err != nil {
			return nil, fmt.Errorf("ensemble: no free port on %s: %w", loopback, err)
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func (o Options) findEndpoints() ([]endpoints, error) {
	ports, err := o.freePorts(3 * o.Nodes)
	if err != nil {
		return nil, err
	}
	found := make([]endpoints, o.Nodes)
	for i := range found {
		found[i] = endpoints{ports[3*i], ports[3*i+1], ports[3*i+2]}
	}
	return found, nil
}

// writeConfig fills the folder of member i with what a server reads at its start.
func (o Options) writeConfig(dir string, i int, all []endpoints) error {
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return fmt.Errorf("ensemble: cannot make the folder of a server: %w", err)
	}
	if err := writeFile(filepath.Join(data, "myid"), strconv.Itoa(i+1)+"\n"); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "zoo.cfg"), o.config(data, i, all))
}

func writeFile(path, content string) error {
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		return fmt.Errorf("ensemble: cannot configure a server: %w", err)
	}
	return nil
}

// config is zoo.cfg (ZooKeeper Administrator's Guide, "Configuration Parameters").
func (o Options) config(data string, i int, all []endpoints) string {
	lines := []string{
		fmt.Sprintf("tickTime=%d", o.Tick.Milliseconds()),
		"initLimit=50",
		fmt.Sprintf("syncLimit=%d", o.SyncLimit),
		"dataDir=" + escapeProperty(data),
		fmt.Sprintf("clientPort=%d", all[i].client),
		"clientPortAddress=" + loopback,
		"admin.enableServer=false",
		"4lw.commands.whitelist=*",
		"maxClientCnxns=0",
	}
	if len(all) > 1 {
		lines = append(lines, "standaloneEnabled=false")
		for j, member := range all {
			lines = append(lines, fmt.Sprintf("server.%d=%s:%d:%d", j+1, loopback, member.peer, member.election))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// escapeProperty writes a value as Java's Properties reads it back.
func escapeProperty(s string) string { return strings.ReplaceAll(s, `\`, `\\`) }

// arguments are Java's: a small heap and quick start, no files outside the member's folder, no
// fsync, log files that are not preallocated to 64 MB, and TTL znodes allowed.
func (o Options) arguments(dir string) []string {
	arguments := []string{
		"-Xms16m", "-Xmx64m", "-Xss256k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-XX:ReservedCodeCacheSize=24m", "-XX:MaxMetaspaceSize=64m", "-XX:-UsePerfData",
		"-Djava.net.preferIPv4Stack=true",
		"-Djava.io.tmpdir=" + dir,
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024", "-Dzookeeper.jmx.log4j.disable=true",
		"-Dzookeeper.nio.numSelectorThreads=1", "-Dzookeeper.nio.numWorkerThreads=2",
		"-Dzookeeper.commitProcessor.numWorkerThreads=1",
		"-Dzookeeper.extendedTypesEnabled=true",
		"-Dzookeeper.electionPortBindRetry=0",
	}
	arguments = append(arguments, o.JVM...)
	return append(arguments, "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(dir, "zoo.cfg"))
}
