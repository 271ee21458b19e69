package conformance_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/live/ensemble"
)

// setup is what the servers of a transcript are told beside the usual: the fake by its configuration, the real ones
// by lines of zoo.cfg, arguments of Java and a JAAS configuration.
type setup struct {
	cfg         fakezk.Config
	config, jvm []string
	jaas        string
	countless   bool // the fake counts transactions otherwise
}

// super is the digest of super:test.
const super = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="

// setups are those of the transcripts that need one, by name.
var setups = map[string]setup{
	"sasl": {
		cfg:  fakezk.Config{Users: map[string]string{"ann": "secret", "super": "power", "zoë": "naïve", "日本": "語"}},
		jvm:  []string{"-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"},
		jaas: `user_ann="secret" user_super="power" user_zoë="naïve" user_日本="語"`,
	},
	"reconfig": {
		cfg: fakezk.Config{Replicas: 3, Reconfig: true, Super: super, Members: []string{
			"server.1=127.0.0.1:20001:20002", "server.2=127.0.0.1:20003:20004", "server.3=127.0.0.1:20005:20006",
		}},
		config: []string{"reconfigEnabled=true", "standaloneEnabled=true"},
		jvm:    []string{"-Dzookeeper.DigestAuthenticationProvider.superDigest=" + super},
	},
	"quota_enforced": {
		cfg: fakezk.Config{EnforceQuota: true},
		jvm: []string{"-Dzookeeper.enforceQuota=true"},
	},
	"readonly": {
		countless: true, // a session that is a server's own costs none
		cfg:       fakezk.Config{Replicas: 3, ReadOnly: true, Members: []string{"server.1=127.0.0.1:20001:20002"}},
		config:    []string{"localSessionsEnabled=true", "localSessionsUpgradingEnabled=true"},
		jvm:       []string{"-Dreadonlymode.enabled=true"},
	},
	"wire": { // nothing happens by time
		cfg:    fakezk.Config{Super: super, MinSession: 60_000, MaxSession: 600_000, ReapInterval: 1 << 45},
		config: []string{"minSessionTimeout=60000", "maxSessionTimeout=600000"},
		jvm: []string{
			"-Dzookeeper.DigestAuthenticationProvider.superDigest=" + super, "-Dznode.container.checkIntervalMs=2147483647",
		},
	},
	"reconfig_alone": {
		cfg:    fakezk.Config{Reconfig: true, Super: super},
		config: []string{"reconfigEnabled=true"},
		jvm:    []string{"-Dzookeeper.DigestAuthenticationProvider.superDigest=" + super},
	},
}

func setupOf(file string) setup { return setups[strings.TrimSuffix(filepath.Base(file), ".txt")] }

func (s setup) fake() fakezk.Config {
	s.cfg.Tick, s.cfg.TTL = tick.Milliseconds(), true
	s.cfg.ReapInterval = cmp.Or(s.cfg.ReapInterval, reapInterval.Milliseconds())
	s.cfg.MaxSession = cmp.Or(s.cfg.MaxSession, lasting.Milliseconds())
	return s.cfg
}

// lines are those of zoo.cfg.
func (s setup) lines() []string {
	return append([]string{fmt.Sprintf("maxSessionTimeout=%d", lasting.Milliseconds())}, s.config...)
}

// startReal starts real servers, which end with the test.
func startReal(t testing.TB, with setup) *ensemble.Ensemble {
	t.Helper()
	jvm := slices.Concat([]string{"-Dznode.container.checkIntervalMs=100"}, with.jvm)
	if with.jaas != "" {
		file := filepath.Join(t.TempDir(), "jaas.conf")
		section := "Server { org.apache.zookeeper.server.auth.DigestLoginModule required " + with.jaas + "; };\n"
		if err := os.WriteFile(file, []byte(section), 0o600); err != nil {
			t.Fatal(err)
		}
		jvm = append(jvm, "-Dfile.encoding=UTF-8", "-Djava.security.auth.login.config="+file)
	}
	e, err := ensemble.Start(t.Context(), ensemble.Options{Nodes: max(with.cfg.Replicas, 1), Tick: tick, JVM: jvm, Config: with.lines()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// realQuorum kills all but the first of three servers and waits until that serves readers, or brings them back.
func realQuorum(t testing.TB, e *ensemble.Ensemble, there bool) error {
	for i := 1; i < 3; i++ {
		change := e.Member(i).Kill
		if there {
			change = e.Member(i).Launch
		}
		if err := change(); err != nil {
			return err
		}
	}
	if there {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return e.WaitServing(ctx)
	}
	return eventually(func() bool { return ask(e.Servers()[0], "isro") == "ro" })
}

// ask returns the answer to a four-letter word; "" if there is none.
func ask(address, word string) string {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return ""
	}
	defer conn.Close()
	fmt.Fprint(conn, word)
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

// showZxid is a transaction's number in its epoch, which the fake has one of.
func showZxid(zxid int64) int64 {
	if zxid < 0 {
		return zxid
	}
	return zxid & 0xffffffff
}

var (
	configPort    = regexp.MustCompile(`:[1-6][0-9]{4}\b`)
	configVersion = regexp.MustCompile(`version=[0-9a-f]+`)
)

// showConfig shows /zookeeper/config without the ports of the test and the epoch; other data as they are.
func showConfig(data string) string {
	if !strings.HasPrefix(data, "server.") {
		return data
	}
	data = configPort.ReplaceAllString(data, ":PORT")
	return configVersion.ReplaceAllStringFunc(data, func(text string) string {
		version, _ := strconv.ParseInt(strings.TrimPrefix(text, "version="), 16, 64)
		return fmt.Sprintf("version=%x", showZxid(version))
	})
}
