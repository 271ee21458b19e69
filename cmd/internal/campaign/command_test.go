package campaign

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
)

// small is a plan of a few quick units.
const small = `"jobs": [{"kinds": ["lock"], "recipes": ["ours"]}], "episodes": 40, "unit": 10, "canary": "none"`

// A canary that is missed is not ok: whoever says how a campaign ended says the same.
func TestMissedCanary(t *testing.T) {
	ours := JobReport{Job: Job{Kind: "lock", Recipe: "ours"}, Result: sim.Result{Counts: tally.Counts{Episodes: 9}, Verdict: sim.VerdictOK}}
	canary := JobReport{Job: Job{Kind: "lock", Canary: true}, Result: sim.Result{Verdict: sim.VerdictOK}}
	canary.Missed = must[string](t)(canary.missed())
	v := view{Status: Status{Name: "test"}, Report: &Report{Plan: &Plan{Name: "test"}, Jobs: []JobReport{canary, ours}}}
	dir := filepath.Join(t.TempDir(), "c")
	if err := v.save(filepath.Join(dir, reportName)); err != nil {
		t.Fatal(err)
	}
	if said := start(t, "campaign", "report", dir).exit(1); !strings.Contains(said, "the harness is broken") || !strings.Contains(said, "Verdict: violation") {
		t.Error(said)
	}
	if junit := read(t, dir, "report", "junit.xml"); !strings.Contains(junit, "<failure") {
		t.Error(junit)
	}
	if page := read(t, dir, "report", "index.html"); !strings.Contains(page, "Campaign test: violation") {
		t.Error(page)
	}
}

// takenPort is a port that is taken.
func takenPort(t *testing.T) string {
	t.Helper()
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	return string(must[[]byte](t)(os.ReadFile(filepath.Join(path...))))
}

// A unit that freezes, one that panics and one that takes all memory are unknown, by their names; the others count, and
// the campaign ends.
func TestBadUnits(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	said := start(t, "campaign", "start", planIn(t, `"jobs": [{"kinds": ["lock"], "recipes": ["good", "freezes", "panics", "eats"]}],
		"episodes": 10, "unit": 10, "canary": "none", "unit_limit": "4s", "unit_memory": 300, "tries": 1`), "--dir", dir, "--workers", "1").exit(2)
	if !strings.Contains(said, "Verdict: unknown") {
		t.Error(said)
	}
	for _, j := range reported(t, dir).Jobs {
		// On a starved machine a unit's time is over before its memory is.
		want := map[string]string{"freezes": "no answer after|no progress", "panics": "a mistake", "eats": "MB of memory|no answer"}[j.Job.Recipe]
		switch {
		case want == "" && (j.Verdict != sim.VerdictOK || j.Episodes != 10):
			t.Errorf("%s is %s after %d episodes: %s", j.Job.Recipe, j.Verdict, j.Episodes, j.Reason)
		case want != "" && (j.Verdict != sim.VerdictUnknown || !regexp.MustCompile(want).MatchString(j.Reason)):
			t.Errorf("%s is %s as %q", j.Job.Recipe, j.Verdict, j.Reason)
		}
	}
}

// A campaign that was stopped goes on in its folder. One that has ended reports again. Another plan is refused there, and
// another coordinator.
func TestStartAgain(t *testing.T) {
	t.Parallel()
	plan, dir := planIn(t, small), filepath.Join(t.TempDir(), "c")
	again := []string{"campaign", "start", plan, "--dir", dir, "--workers"}
	p := start(t, append(again, "0")...)
	p.word("More workers: ")
	if said := start(t, append(again, "0")...).exit(2); !strings.Contains(said, "another coordinator is at work") {
		t.Error(said)
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	if said := p.exit(2); !strings.Contains(said, "To go on: ") || !strings.Contains(said, strings.Join(again, " ")) {
		t.Error(said)
	}
	if said := start(t, "campaign", "status", dir).exit(0); !strings.Contains(said, "running: 0 of 4 units") {
		t.Error(said)
	}
	if said := start(t, "campaign", "report", dir).exit(2); !strings.Contains(said, "there is no report") {
		t.Error(said)
	}
	for range 2 {
		if said := start(t, append(again, "1")...).exit(0); !strings.Contains(said, "Verdict: ok") {
			t.Error(said)
		}
	}
	again[2] = planIn(t, strings.Replace(small, "40", "50", 1))
	if said := start(t, append(again, "1")...).exit(2); !strings.Contains(said, "has a campaign of another plan") {
		t.Error(said)
	}
}

// Beyond this machine the server and the page use TLS. A port that is taken, and nights that cannot be read, are errors.
// Nobody joins without the token, with another one, or a server with another certificate than the one that is expected;
// and no other build.
func TestAccess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "c")
	p := start(t, "campaign", "start", planIn(t, small), "--dir", dir, "--workers", "0", "--listen", "0.0.0.0:0")
	join := strings.Fields(p.word("More workers: torture "))
	if page := p.word("Page: "); !strings.HasPrefix(page, "https://") || !strings.HasPrefix(join[2], "tls://") {
		t.Errorf("%s, %s", page, join)
	}
	join[2] = regexp.MustCompile(`//[^/]*:`).ReplaceAllString(join[2], "//127.0.0.1:") // the machine's name may lead elsewhere
	other := must[string](t)(folder(t.TempDir()).token(""))
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	stranger := folder(t.TempDir())
	if _, err := stranger.certificate(); err != nil {
		t.Fatal(err)
	}
	token, ca := join[4], join[6]
	for _, c := range []struct{ token, ca, want string }{
		{wrong, ca, "does not know the token"}, {token, stranger.path(certName), "the certificate of"}, {token, token, "the certificate of"},
	} {
		if said := start(t, "campaign", "work", join[2], "--token-file", c.token, "--ca", c.ca).exit(2); !strings.Contains(said, c.want) {
			t.Errorf("not %q: %s", c.want, said)
		}
	}
	if said := start(t, "campaign", "start", planIn(t, small), "--dir", t.TempDir(), "--listen", "127.0.0.1:"+takenPort(t)).exit(2); !strings.Contains(said, "did not start") {
		t.Error(said)
	}
	bad := t.TempDir()
	if err := os.WriteFile(filepath.Join(bad, "night-1.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if said := start(t, "campaign", "start", planIn(t, small), "--dir", t.TempDir(), "--nights", bad).exit(2); !strings.Contains(said, "--nights: ") {
		t.Error(said)
	}
	if said := start(t, "campaign", "work", "nats://secret@127.0.0.1:1").exit(2); !strings.Contains(said, "put a secret into a file") {
		t.Error(said)
	}
	copied := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(copied, append(must[[]byte](t)(os.ReadFile(os.Args[0])), 0), 0o755); err != nil {
		t.Fatal(err)
	}
	if said := startCopy(t, copied, join...).exit(2); !strings.Contains(said, "results of two programs do not add up") {
		t.Error(said)
	}
	start(t, join...).exit(0)
	p.exit(0)
}

// What a night has found is new, what the next one finds again is open, and what does not break any more is fixed.
func TestNightsOfCampaigns(t *testing.T) {
	t.Parallel()
	nights := filepath.Join(t.TempDir(), "nights")
	broken := planIn(t, `"jobs": [{"kinds": ["queue"], "recipes": ["published/DistributedQueue"], "clients": 1, "faults": "loss"}],
		"episodes": 40, "unit": 40, "canary": "none"`)
	for _, state := range []string{"new ", "open"} {
		dir := filepath.Join(t.TempDir(), "c")
		said := start(t, "campaign", "start", broken, "--dir", dir, "--workers", "1", "--nights", nights).exit(1)
		if !strings.Contains(said, "\n"+state+"  ") || strings.Contains(said, "breaks still, the same run") != (state == "open") {
			t.Errorf("not %s: %s", state, said)
		}
		if page := read(t, dir, "report", "index.html"); !strings.Contains(page, "<td>"+strings.TrimSpace(state)+"</td>") {
			t.Error(page)
		}
	}
}
