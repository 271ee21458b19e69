package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
)

// The words whose answers are compared as they are, and those that change something, last.
var comparedWords = []string{
	"ruok", "isro", "srvr", "stat", "cons", "wchs", "wchp", "wchc", "dump", "gtmk", "hash", "crst", "cons", "srst",
	"stmk\x00\x00\x00\x00\x00\x00\x00\x07", "gtmk", "stat", "stmk",
}

// Four-letter words are answered as by Apache's server after the same requests, by each role.
func TestWordsAsApache(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			e := ensembletest.Start(t, nodes)
			s := fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{
				Replicas: nodes, Tick: 100, MaxSession: ensembletest.Lasting.Milliseconds(),
			}})
			var fake []string
			for i := range nodes {
				fake = append(fake, s.Addr(i))
			}
			are, want := byRole(t, fake), byRole(t, e.Servers())
			for _, role := range slices.Sorted(maps.Keys(want)) {
				apache, asked := spoken(t, want[role], -1)
				fake, _ := spoken(t, are[role], asked)
				if d := cmp.Diff(apache, fake); d != "" {
					t.Errorf("%s: -Apache +fake: %s", role, d)
				}
				compareMetrics(t, metricsAlone(t, want[role]), metricsAlone(t, are[role]))
				conf, real_ := keys(ask(t, are[role], "conf")), keys(ask(t, want[role], "conf"))
				between := regexp.MustCompile(`^(electionPort|quorumPort|server\.\d|version)$`)
				real_ = slices.DeleteFunc(real_, between.MatchString)
				if d := cmp.Diff(real_, conf); d != "" {
					t.Errorf("conf: -Apache +fake: %s", d)
				}
			}
		})
	}
}

// byRole finds a server of each role.
func byRole(t *testing.T, servers []string) map[string]string {
	found := map[string]string{}
	for _, address := range servers {
		_, after, _ := strings.Cut(ask(t, address, "srvr"), "Mode: ")
		role, _, _ := strings.Cut(after, "\n")
		found[role] = address
	}
	return found
}

// spoken makes some requests, and returns what words are answered. An Apache server counts a request off after its reply,
// so that it is asked before until nothing is queued, and its leader was seen to list no session for a moment, so that it
// is asked again. How often it was asked before is returned; a fake is asked as often, as words are counted.
func spoken(t *testing.T, address string, before int) (answers []string, asked int) {
	t.Helper()
	apache := before < 0
	ask(t, address, "srst")
	c := busy(t, address)
	defer c.net.Close()
	testkit.Until(t, "no request is queued", func() bool {
		asked++
		queued := queue.MatchString(ask(t, address, "cons"))
		return apache && !queued || asked == before
	})
	for _, word := range comparedWords {
		answer := ask(t, address, word)
		for end := testkit.Deadline(); apache && unlisted(answer) && time.Now().Before(end); {
			answer = ask(t, address, word)
		}
		answers = append(answers, fmt.Sprintf("%q: %s", word, plain(answer)))
	}
	c.send(&wire.RequestHeader{Xid: 9, Op: wire.OpCloseSession})
	c.receive(&wire.ReplyHeader{})
	return answers, asked
}

// queue is a connection with requests that are not counted off.
var queue = regexp.MustCompile(`queued=[1-9]`)

// unlisted reports whether an answer is that to dump, and lists no session before the ephemeral znodes.
func unlisted(answer string) bool {
	sessions, _, dump := strings.Cut(answer, "ephemeral nodes dump:")
	return dump && !strings.Contains(sessions, "0x")
}

// busy is a client that has made requests, and has watches and an ephemeral znode.
func busy(t *testing.T, address string) *raw {
	t.Helper()
	c := dialRaw(t, address, wire.ConnectResponse{})
	for i, r := range []struct {
		op   wire.Op
		body wire.Record
	}{
		{wire.OpCreate, &wire.CreateRequest{Path: "/e", ACL: open, Flags: zk.FlagEphemeral}},
		{wire.OpExists, &wire.WatchRequest{Path: "/x", Watch: true}},
		{wire.OpGetData, &wire.WatchRequest{Path: "/e", Watch: true}},
		{wire.OpGetChildren, &wire.WatchRequest{Path: "/", Watch: true}},
		{wire.OpSetData, &wire.SetDataRequest{Path: "/nowhere"}},
		{wire.OpSetData, &wire.SetDataRequest{Path: "/e", Data: []byte("x"), Version: -1}},
	} {
		c.send(&wire.RequestHeader{Xid: int32(i), Op: r.op}, r.body)
		for h := (wire.ReplyHeader{Xid: -1}); h.Xid != int32(i); {
			c.receive(&h)
		}
	}
	return c
}

// different is what differs from run to run, and what takes its place.
var different = [][2]string{
	{`Zookeeper version: .*`, "VERSION"}, {`Proposal sizes last/min/max: .*`, "PROPOSALS"},
	{`127\.0\.0\.1:\d+`, "ADDRESS"},
	{`([zZ]xid)(=|: )0x[0-9a-f]*?0*([0-9a-f]{1,8})\b`, "$1$2$3"}, {`0x[0-9a-f]{12,}\b`, "SESSION"},
	{`(min/avg/max|est|lresp|llat|minlat|avglat|maxlat)(=|: )[\d./]+`, "$1$2"},
	{`\d+ expire at .*:\n`, ""}, {`Sets \(\d+\)`, "Sets"}, // how many moments there are at which sessions expire
}

// plain replaces what differs, and puts the lines of connections, which have no order, into one.
func plain(text string) string {
	for _, x := range different {
		text = regexp.MustCompile(x[0]).ReplaceAllString(text, x[1])
	}
	return regexp.MustCompile(`(?m)(^ /.*\n)+|(^\tip: .*\n)+`).ReplaceAllStringFunc(text, func(lines string) string {
		return strings.Join(slices.Sorted(strings.Lines(lines)), "")
	})
}

func metrics(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		values[name] = value
	}
	return values
}

var volatileMetric = regexp.MustCompile("version|uptime|latency|file_descriptor|_size$|looking|packets")

// compareMetrics sees that each of the fake's is there, and has the same value.
func compareMetrics(t *testing.T, want, are map[string]string) {
	t.Helper()
	for name, value := range are {
		real_, there := want[name]
		if !there || real_ != value && !volatileMetric.MatchString(name) {
			t.Errorf("%s is %q, and %q (%v) on Apache's server", name, value, real_, there)
		}
	}
}

// metricsAlone are what mntr says when earlier connections have ended: a server may notice after their clients.
func metricsAlone(t *testing.T, address string) (of map[string]string) {
	t.Helper()
	testkit.Until(t, "no other connection is open", func() bool {
		of = metrics(ask(t, address, "mntr"))
		return of["zk_num_alive_connections"] == "1"
	})
	return of
}

// keys are the names in a text like conf's.
func keys(text string) (names []string) {
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "=")
		names = append(names, name)
	}
	return names
}

// The AdminServer's commands are listed and answered as by Apache's, which needs Debian's packages libjetty9-java and
// libjackson2-databind-java.
func TestAdminServerAsApache(t *testing.T) {
	ensembletest.Need(t)
	jars := adminJars(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	_, port, _ := net.SplitHostPort(free.Addr().String())
	options := ensembletest.Options(1)
	options.Config = append(options.Config, "admin.enableServer=true", "admin.serverPort="+port)
	options.JVM = []string{"-cp", jars}
	e, err := ensemble.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop() })
	s := fakezktest.Start(t, server.Config{})
	c := startControl(t, s)
	busy(t, e.Servers()[0])
	busy(t, s.Addr(0))
	apache, fake := "http://127.0.0.1:"+port+"/commands", c.url+"/commands"
	sent := func(commands string) string {
		return regexp.MustCompile(`"packets_sent" : \d+`).FindString(fetch(t, commands+"/server_stats"))
	}
	testkit.Until(t, "Apache's server does not count a reply after the reset", func() bool {
		ask(t, e.Servers()[0], "srst")
		ask(t, s.Addr(0), "srst")
		return sent(apache) == sent(fake)
	})
	list := fetch(t, apache)
	if d := cmp.Diff(list, fetch(t, fake)); d != "" {
		t.Errorf("-Apache +fake: %s", d)
	}
	for _, name := range regexp.MustCompile(`commands/(\w+)`).FindAllStringSubmatch(list, -1) {
		compareAdmin(t, "/"+name[1], fetch(t, apache+"/"+name[1]), fetch(t, fake+"/"+name[1]))
	}
	const aliases = "conf config crst cons env envi gtmk icfg isro lsnp lead mntr orst obsr srvr stmk srst stat sysp " +
		"wchs wchc wchp set_trace_mask?traceMask=5 nonsense"
	for _, alias := range strings.Fields(aliases) {
		compareAdmin(t, "/"+alias, fetch(t, apache+"/"+alias), fetch(t, fake+"/"+alias))
	}
}

func adminJars(t *testing.T) string {
	var jars []string
	for _, pattern := range []string{
		"zookeeper*", "slf4j-api", "slf4j-simple", "jackson-*", "jetty9-*", "servlet-api*", "netty-*",
		"metrics-core*", "snappy*",
	} {
		found, err := filepath.Glob("/usr/share/java/" + pattern + ".jar")
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 && (strings.HasPrefix(pattern, "j") || pattern[0] == 'z') {
			t.Skipf("there is no %s in /usr/share/java", pattern)
		}
		jars = append(jars, found...)
	}
	return strings.Join(jars, ":")
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, err)
	}
	return string(text)
}

// compareAdmin compares texts without values that differ from run to run; of those that tell of Java only which of its
// names the fake has.
func compareAdmin(t *testing.T, what, want, is string) {
	t.Helper()
	var apache, fake map[string]any
	if json.Unmarshal([]byte(want), &apache) != nil || json.Unmarshal([]byte(is), &fake) != nil {
		t.Fatalf("%s: no JSON: %s", what, is)
	}
	if len(apache) > 12 || strings.Contains(is, "initial_configuration") {
		for name := range fake {
			if _, there := apache[name]; !there && name != "go.version" {
				t.Errorf("%s: Apache's server has no %s", what, name)
			}
		}
		return
	}
	for _, x := range [][2]string{
		{`"version" : ".*"`, "VERSION"}, {`127\.0\.0\.1:\d+`, "ADDRESS"}, {`_dir" : ".*"`, `_dir" : DIR`},
		{`"\d{6,}" : \[ \d`, "KEY : [ "}, {`"\d{6,}"`, "KEY"},
		{` *KEY : \[ \],\n`, ""}, {`\d{9,}`, "LONG"}, {`"zxid" : "\w+"`, "ZXID"},
		{`(latency|uptime|_size|port|time|cnxns|timeout|_zxid)" : [-\d.]+`, "$1 N"},
	} {
		want = regexp.MustCompile(x[0]).ReplaceAllString(want, x[1])
		is = regexp.MustCompile(x[0]).ReplaceAllString(is, x[1])
	}
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(is, "\n")); d != "" {
		t.Errorf("%s: -Apache +fake: %s", what, d)
	}
}
