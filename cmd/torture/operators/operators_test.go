package operators

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story/index"
)

// recorded is a run of 24 rounds, of which one has killed the leader.
const recorded = "testdata/leader"

var tags = regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`)

// pageOf is the text of the page of a folder, with the folder's files changed.
func pageOf(t *testing.T, changed map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(recorded)); err != nil {
		t.Fatal(err)
	}
	for name, text := range changed {
		file := filepath.Join(dir, name)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := index.Build(t.Context(), dir, index.Options{Section: section}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, index.Name))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(string(page), " "))), " ")
	_, text, _ = strings.Cut(text, "did they survive? ")
	return text
}

// wantInOrder reports the first of some texts that does not come after those before it.
func wantInOrder(t *testing.T, text string, want ...string) {
	t.Helper()
	rest := text
	for _, w := range want {
		_, after, found := strings.Cut(rest, w)
		if !found {
			t.Errorf("%q is not there, or not in its place, in\n%s", w, text)
			return
		}
		rest = after
	}
}

func TestPageOfARun(t *testing.T) {
	text := pageOf(t, nil)
	if !strings.HasPrefix(text, "yes : servers were hurt once (kill 1), and all were well again each time, at most 1.8 s after it began") {
		t.Errorf("the page does not begin with the answer: %.200s", text)
	}
	wantInOrder(t, text, "elections 1", "longest time without a leader 600 ms from 0.6 s on",
		"acquire 39 30 ms 190 ms 190 ms 1 610 ms", "release", "Who led when", "0.0 s 0.6 s server.3 1", "0.6 s 1.2 s none", "1.2 s", "server.2 2",
		"Faults of servers", "0.3 s kill server.3 (leader) 300 ms 1.8 s server.2",
		"Not checked on real servers", "herd : which event woke which client is not seen")
	if strings.Contains(text, "Missing") {
		t.Errorf("something is missing: %s", text)
	}
}

// A killed run lacks files, and the ends of files. The page says so, and shows the rest.
func TestPageOfAKilledRun(t *testing.T) {
	history, err := os.ReadFile(filepath.Join(recorded, index.HistoryName))
	if err != nil {
		t.Fatal(err)
	}
	text := pageOf(t, map[string]string{"result.json": "", leadersName: `{"at":2614,"server":"server.3","epoch":1}` + "\n" + `{"at":600`,
		index.HistoryName: string(history[:len(history)-30])})
	if !strings.HasPrefix(text, "not known : the run is under way, or was killed. So far servers were hurt once") {
		t.Errorf("the page does not begin with the answer: %.200s", text)
	}
	wantInOrder(t, text, "Missing: there is no result.json", "history.jsonl can be read in part only: its last",
		"leaders.jsonl can be read in part only: line 2", "acquire", "server.3 1", "0.3 s kill")
	if _, leaders, _ := strings.Cut(text, "Who led when"); strings.Contains(leaders, " none ") {
		t.Errorf("a line that was cut off is taken for the end of a reign: %s", leaders)
	}
	text = pageOf(t, map[string]string{leadersName: "", "faults.jsonl": "", index.HistoryName: ""})
	wantInOrder(t, text, "there is no history.jsonl", "there is no faults.jsonl", "there is no leaders.jsonl", "Not known: nobody watched")
}

func TestAnswers(t *testing.T) {
	hurt := []live.ServerStrike{{At: 1e9, Well: 3e9, Whom: "server.1 (leader)", ServerFault: live.ServerFault{Fault: ensemble.Fault{Kind: strike.Kill}}}}
	never := slices.Clone(hurt)
	never[0].Well = 0
	for answer, r := range map[string]*Run{
		"yes":             {result: &result{Verdict: "ok"}, Hurts: hurt},
		"no":              {result: &result{Verdict: "ok"}, Hurts: never},
		"nothing broke":   {result: &result{Verdict: "ok", Faults: map[string]int{"loss": 3}}},
		"a promise broke": {result: &result{Verdict: "violation"}, Hurts: hurt},
		"not known":       {result: &result{Verdict: "unknown", Reason: "the servers do not answer"}, Hurts: hurt},
	} {
		if got := told(r); got.Answer != answer {
			t.Errorf("%s: %s: %s", answer, got.Answer, got.Says)
		}
	}
}

func TestLatencies(t *testing.T) {
	r := &Run{End: 100, Hurts: []live.ServerStrike{{At: 60, Well: 70}, {At: 20, Well: 30}, {At: 25, Well: 40}}}
	for i := range int64(10) { // 1 to 10 long
		r.operations = append(r.operations, operation{"get", 9 - i, 10, true, 0})
	}
	r.operations = append(r.operations, operation{"get", 35, 55, true, 0}, operation{"get", 80, 80, false, 0},
		operation{"set", 50, 58, false, 0}, operation{"set", 41, 59, true, 0})
	bands := r.bands()
	if diff := cmp.Diff([]span{{20, 40}, {60, 70}}, bands, cmp.AllowUnexported(span{})); diff != "" {
		t.Error(diff)
	}
	want := []latency{{"get", figures{10, 5, 10, 10}, figures{1, 20, 20, 20}, 1}, {"set", figures{1, 18, 18, 18}, figures{}, 1}}
	if diff := cmp.Diff(want, latencies(r.operations, bands)); diff != "" {
		t.Error(diff)
	}
	if gap := r.silence(); gap != (span{35, 55}) {
		t.Errorf("the longest time without an answer is %v", gap)
	}
}

// A threshold is of what was answered before a fault struck in its round, while all servers were well.
func TestThresholds(t *testing.T) {
	r := &Run{End: 1e9, Hurts: []live.ServerStrike{{At: 600e6, Well: 700e6}}, Strikes: []live.Strike{{Fault: live.Fault{Round: 2}, At: 100e6}}}
	add := func(name string, round int, call, end int64) {
		r.operations = append(r.operations, operation{name, call * 1e6, end * 1e6, true, round})
	}
	for i := range int64(100) {
		add("release", 1, i, i+1)
	}
	add("release", 2, 10, 13)
	add("release", 2, 90, 120)  // a fault strikes in its round
	add("release", 2, 300, 500) // … has struck
	add("release", 1, 590, 650) // … strikes a server
	add("release", -1, 90, 350) // … strikes in what may be its round
	add("acquire", 3, 300, 340)
	r.operations = append(r.operations, operation{"acquire", 400e6, 900e6, false, 3}) // unknown
	judged := func(given ...string) (says []string) {
		limits := make([]limit, len(given))
		for i, text := range given {
			var err error
			if limits[i], err = parseLimit(text); err != nil {
				t.Fatal(err)
			}
		}
		for _, threshold := range r.keeps(limits) {
			says = append(says, threshold.String())
		}
		return says
	}
	for given, want := range map[string][]string{
		"p99=2ms":           {"acquire p99 40ms, at most 2ms (of 1 while nothing struck): violation", "release p99 1ms, at most 2ms (of 101 while nothing struck): ok"},
		"release:max=3ms":   {"release max 3ms, at most 3ms (of 101 while nothing struck): ok"},
		"release:max=2.9ms": {"release max 3ms, at most 2.9ms (of 101 while nothing struck): violation"},
		"poll:p50=1s":       {"poll p50 not known, at most 1s (of 0 while nothing struck): unknown"},
	} {
		if diff := cmp.Diff(want, judged(given)); diff != "" {
			t.Errorf("%s: %s", given, diff)
		}
	}
	for _, wrong := range []string{"", "p99", "p98=1s", "p99=1", "p99=-1s", ":p99=1s", "release=1s"} {
		if _, err := thresholds([]string{"p99=1s", wrong}); err == nil || !strings.Contains(err.Error(), "write p50, p99 or max and a time") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	result, err := os.ReadFile(filepath.Join(recorded, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	text := pageOf(t, map[string]string{"result.json": strings.Replace(string(result), `{`, `{"thresholds":[{"operation":"release","quantile":"p99",`+
		`"limit_s":0.015,"took_s":0.0152,"count":45,"verdict":"violation"},{"operation":"get","quantile":"max","limit_s":1,"took_s":0,"count":0,"verdict":"unknown"}],`, 1)})
	wantInOrder(t, text, "too slow : release took 15.2 ms (p99) and may take 15 ms, while nothing struck. No promise", "servers were hurt once",
		"Thresholds", "release p99 15.2 ms 15 ms 45 violation", "get max not known 1 s 0 unknown")
}

// The exit status is that of the worst, and a promise counts first.
func TestVerdictWithThresholds(t *testing.T) {
	ok, broken, unknown := output.Threshold{Verdict: sim.VerdictOK}, output.Threshold{Verdict: sim.VerdictViolation}, output.Threshold{Verdict: sim.VerdictUnknown}
	for _, c := range []struct {
		of   sim.Verdict
		all  []output.Threshold
		want sim.Verdict
	}{
		{sim.VerdictOK, nil, sim.VerdictOK}, {sim.VerdictOK, []output.Threshold{ok, unknown, ok}, sim.VerdictUnknown},
		{sim.VerdictOK, []output.Threshold{unknown, broken, ok}, sim.VerdictViolation}, {sim.VerdictUnknown, []output.Threshold{ok}, sim.VerdictUnknown},
		{sim.VerdictUnknown, []output.Threshold{broken}, sim.VerdictViolation}, {sim.VerdictViolation, []output.Threshold{ok, unknown}, sim.VerdictViolation},
	} {
		if got := output.WithThresholds(c.of, c.all); got != c.want {
			t.Errorf("%s with %v is %s, want %s", c.of, c.all, got, c.want)
		}
	}
}

func TestDurations(t *testing.T) {
	for ns, want := range map[int64]string{0: "0 s", 14_412_000: "14 ms", 1_638_000_000: "1.6 s", 1_234: "1.2 µs", 12_345_678_901: "12 s"} {
		if got := strings.ReplaceAll(took(ns), "\u00a0", " "); got != want {
			t.Errorf("%d ns: %q, want %q", ns, got, want)
		}
	}
}

func TestLeaderAmongServers(t *testing.T) {
	follower, old, leads := ensemble.Status{Mode: "follower", Zxid: 4 << 32}, ensemble.Status{Mode: "leader", Zxid: 2<<32 | 9}, ensemble.Status{Mode: "leader", Zxid: 3 << 32}
	for _, tt := range []struct {
		want    Reign
		answers []ensemble.Status
	}{
		{Reign{}, []ensemble.Status{{}, follower, {}}},
		{Reign{Server: "server.2", Epoch: 3}, []ensemble.Status{old, leads, follower}},
		{Reign{Server: "server.1", Epoch: 3}, []ensemble.Status{leads, follower, old}},
		{Reign{Server: "server.1"}, []ensemble.Status{{Mode: "standalone", Zxid: 7}}},
	} {
		if got := leader(tt.answers); got != tt.want {
			t.Errorf("%+v: %+v, want %+v", tt.answers, got, tt.want)
		}
	}
}

// What is written down of real servers has the leader that was killed, and one of a later epoch.
func TestLeadersAreWatched(t *testing.T) {
	e := ensembletest.Start(t, 3)
	if _, err := e.WaitLeader(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := leading(ctx, e)
	struck, err := e.Strike(ctx, ensemble.Fault{Kind: strike.Kill, Target: ensemble.Leader})
	if err != nil {
		t.Fatal(err)
	}
	if killed := ensemble.Target(struck.Member).String(); first.Server != killed {
		t.Errorf("%v led, and %s was killed", first, killed)
	}
	out := make(written, 16)
	done := make(chan error, 1)
	go func() { done <- record(ctx, e, out) }()
	seen := map[string]Reign{}
	for deadline := time.After(time.Minute); ; {
		select {
		case line := <-out:
			var now Reign
			if err := json.Unmarshal(bytes.TrimSpace(line), &now); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			seen[now.Server] = now
			if now.Server != "" && now.Server != first.Server && now.Epoch > first.Epoch {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				return
			}
		case <-deadline:
			t.Fatalf("no second leader was written down, but %v", slices.Collect(maps.Values(seen)))
		}
	}
}

// written takes what is written, a line at a time.
type written chan []byte

func (l written) Write(p []byte) (int, error) {
	l <- bytes.Clone(p)
	return len(p), nil
}
