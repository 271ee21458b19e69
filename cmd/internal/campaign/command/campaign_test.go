package command

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/failures"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/coordinator"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/page"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/sim"
)

// small is a plan of a few quick units.
const small = `"jobs": [{"kinds": ["lock"], "recipes": ["ours"]}], "episodes": 40, "unit": 10, "canary": "none"`

// A unit that freezes, one that panics and one that takes all memory are tried as often as the plan says and are then
// unknown, by their names; the others count, and the campaign ends.
func TestBadUnits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	p := command(t, "start", "testdata/bad.json", "--dir", dir, "--workers", "1")
	if code := p.exit(t); code != 2 {
		t.Fatalf("exit status %d:\n%s", code, p.said.String())
	}
	if !strings.Contains(p.said.String(), "Verdict: ") {
		t.Fatal(p.said.String())
	}
	o := outcome(t, dir)
	if o.Judge().Verdict != page.Unknown || len(o.Report.Unknown) != 3 {
		t.Errorf("the verdict is %s, unknown are %v", o.Judge().Verdict, o.Report.Unknown)
	}
	for _, j := range o.Report.Jobs {
		// On a starved machine a unit's time is over before its memory is: the runner's test has time enough.
		want := map[string]string{"freezes": "frozen|froze|limit", "panics": "a mistake", "eats": "memory|frozen"}[j.Job.Recipe]
		switch {
		case want == "" && (j.Verdict != sim.VerdictOK || j.Episodes != 10):
			t.Errorf("%s is %s after %d episodes: %s", j.Job.Recipe, j.Verdict, j.Episodes, j.Reason)
		case want != "" && (j.Verdict != sim.VerdictUnknown || !regexp.MustCompile(want).MatchString(j.Reason)):
			t.Errorf("%s is %s as %q", j.Job.Recipe, j.Verdict, j.Reason)
		}
	}
	for _, reason := range o.Report.Unknown {
		name := regexp.MustCompile(`crashes/unit-\d+\.json`).FindString(reason)
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("the episode is not kept of %q: %v", reason, err)
		}
		crash, err := sim.ReadCounterexample(bytes.NewReader(text))
		if err != nil || !strings.Contains("freezes panics eats", crash.Recipe) {
			t.Errorf("%s has %v: %v", name, crash, err)
		}
	}
}

// A campaign that was stopped goes on in its folder. One that has ended reports again. Of another plan it is refused.
func TestStartAgain(t *testing.T) {
	plan, dir := planFile(t, small), filepath.Join(t.TempDir(), "c")
	p := command(t, "start", plan, "--dir", dir, "--workers", "0")
	serverOf(t, dir)
	until(t, "it says how to join", func() bool { return strings.Contains(p.said.String(), "More workers: ") })
	second := command(t, "start", plan, "--dir", dir)
	if code := second.exit(t); code != 2 || !strings.Contains(second.said.String(), "another coordinator is at work") {
		t.Errorf("a second coordinator ends with %d:\n%s", code, second.said.String())
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	again := "To go on: torture-campaign start " + plan + " --dir " + dir
	if code := p.exit(t); code != 2 || !strings.Contains(p.said.String(), again) {
		t.Errorf("it stops with %d:\n%s", code, p.said.String())
	}
	for range 2 {
		p = command(t, "start", plan, "--dir", dir, "--workers", "1")
		if code := p.exit(t); code != 0 || !strings.Contains(p.said.String(), "Verdict: ok") {
			t.Fatalf("it ends with %d:\n%s", code, p.said.String())
		}
	}
	p = command(t, "start", planFile(t, strings.Replace(small, "40", "50", 1)), "--dir", dir)
	if code := p.exit(t); code != 2 || !strings.Contains(p.said.String(), "has a campaign of another plan") {
		t.Errorf("another plan in its folder ends with %d:\n%s", code, p.said.String())
	}
}

// A worker of another build is refused, with a sentence; the coordinator knows of it.
func TestOtherBuild(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	p := command(t, "start", planFile(t, small), "--dir", dir, "--workers", "0", "--page", "")
	server := serverOf(t, dir)
	other := filepath.Join(t.TempDir(), "other")
	program, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(other, append(program, 0), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := commandOf(t, other, "work", server, "--token-file", filepath.Join(dir, "token"))
	if code := w.exit(t); code != 2 || !strings.Contains(w.said.String(), "build the same commit") {
		t.Errorf("it ends with %d:\n%s", code, w.said.String())
	}
	s := command(t, "status", dir, "--json")
	if code := s.exit(t); code != 0 || !strings.Contains(s.said.String(), `"refused": "this program is`) {
		t.Errorf("the status does not have it:\n%s", s.said.String())
	}
	p.kill()
}

// Nobody joins without the token, with another one, or a server with another certificate than the one that is expected.
func TestAccess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	command(t, "start", planFile(t, small), "--dir", dir, "--workers", "0", "--listen", "0.0.0.0:0", "--page", "")
	server := serverOf(t, dir)
	if !strings.HasPrefix(server, "tls://") {
		t.Fatalf("the server beyond this machine is %s", server)
	}
	access, err := coordinator.Folder(dir).Access()
	if err != nil {
		t.Fatal(err)
	}
	if access.URL = "tls://127.0.0.1" + server[strings.LastIndex(server, ":"):]; access.Fingerprint == "" {
		t.Fatal("there is no fingerprint")
	}
	nc, err := access.Dial(t.Context(), patience)
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]engine.Access{
		"without token":       {URL: access.URL, Fingerprint: access.Fingerprint},
		"with another token":  {URL: access.URL, Fingerprint: access.Fingerprint, TokenFile: wrong},
		"without fingerprint": {URL: access.URL, TokenFile: access.TokenFile},
		"another fingerprint": {URL: access.URL, TokenFile: access.TokenFile, Fingerprint: strings.Repeat("ab", 32)},
		"with a secret in it": {URL: "tls://secret@127.0.0.1:1"},
	} {
		nc, err := bad.Dial(t.Context(), 0)
		if err == nil {
			nc.Close()
			t.Errorf("%s it connects", name)
			continue
		}
		refused := strings.Contains(err.Error(), "refused") || name == "with a secret in it"
		if strings.Contains(err.Error(), "secret@") || !refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	info, err := os.Stat(access.TokenFile)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token is for others, too: %v, %v", info.Mode(), err)
	}
}

// The token is in its file, and nowhere else: not in what processes say, nor in their arguments, nor in any other file
// of the campaign; the same for the key of the certificate.
func TestTokenIsSaidNowhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	p := command(t, "start", planFile(t, small), "--dir", dir, "--workers", "0", "--listen", "0.0.0.0:0",
		"--page", "0.0.0.0:0")
	server := serverOf(t, dir)
	access, err := coordinator.Folder(dir).Access()
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(access.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	token = bytes.TrimSpace(token)
	until(t, "workers may join", func() bool { return strings.Contains(p.said.String(), "More workers: ") })
	local := "tls://127.0.0.1" + server[strings.LastIndex(server, ":"):]
	s := command(t, "status", local, "--token-file", access.TokenFile, "--fingerprint", access.Fingerprint, "--json")
	<-s.ended // or the campaign has
	w := command(t, "work", local, "--token-file", access.TokenFile, "--fingerprint", access.Fingerprint)
	for _, p := range []*process{s, w, p} {
		if code := p.exit(t); code != 0 {
			t.Errorf("%v ends with %d:\n%s", p.cmd.Args[1:], code, p.said.String())
		}
		if said := p.said.String() + strings.Join(p.cmd.Args, " "); strings.Contains(said, string(token)) {
			t.Errorf("%v says the token", p.cmd.Args[1:])
		}
	}
	looked := 0
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == access.TokenFile {
			return err
		}
		looked++
		text, err := os.ReadFile(name)
		if bytes.Contains(text, token) {
			t.Errorf("%s has the token", name)
		}
		if bytes.Contains(text, []byte("PRIVATE KEY")) != strings.HasSuffix(name, "key.pem") {
			t.Errorf("%s has a key, or has none", name)
		}
		return err
	})
	if err != nil || looked < 8 {
		t.Errorf("looked at %d files: %v", looked, err)
	}
}

// A campaign on a server of NATS that is there is led from a folder, and leaves its report on the server.
func TestServerThatIsThere(t *testing.T) {
	s, err := engine.Serve(engine.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0", Token: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("theirs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := "nats://" + s.Addr().String()
	dir := filepath.Join(t.TempDir(), "c")
	p := command(t, "start", planFile(t, small), "--dir", dir, "--nats", server, "--token-file", token, "--workers", "1")
	if code := p.exit(t); code != 0 {
		t.Fatalf("it ends with %d:\n%s", code, p.said.String())
	}
	r := command(t, "report", server, "--token-file", token, "--json", filepath.Join(dir, "theirs.json"))
	if code := r.exit(t); code != 0 {
		t.Fatalf("the report ends with %d:\n%s", code, r.said.String())
	}
	var report campaign.Report
	text, err := os.ReadFile(filepath.Join(dir, "theirs.json"))
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err != nil || asJSON(t, report.Jobs) != asJSON(t, outcome(t, dir).Report.Jobs) {
		t.Errorf("the report of the server is another: %v", err)
	}
	w := command(t, "work", server, "--token-file", token)
	if code := w.exit(t); code != 0 || !strings.Contains(w.said.String(), "has ended") {
		t.Errorf("a late worker ends with %d:\n%s", code, w.said.String())
	}
}

// What one night has found is run again first the next night, and is known.
func TestTwoNights(t *testing.T) {
	plan := planFile(t, `"jobs": [{"kinds": ["queue"], "recipes": ["published/DistributedQueue"]}],
		"episodes": 40, "canary": "none"`)
	store := filepath.Join(t.TempDir(), "failures")
	var nights []*failures.Night
	for range 2 {
		dir := filepath.Join(t.TempDir(), "c")
		p := command(t, "start", plan, "--dir", dir, "--workers", "1", "--failures", store)
		if code := p.exit(t); code != 1 {
			t.Fatalf("it ends with %d:\n%s", code, p.said.String())
		}
		nights = append(nights, outcome(t, dir).Night)
	}
	if len(nights[0].Failures) == 0 || nights[0].Failures[0].State != failures.New {
		t.Fatalf("the first night has %+v", nights[0].Failures)
	}
	for _, f := range nights[1].Failures {
		if f.State != failures.Ongoing {
			t.Errorf("in the second night %s is %s: %s", f.ID, f.State, f.Reason)
		}
	}
}

// If failures cannot be remembered the report is there nevertheless, and the command says what to do.
func TestNotRemembered(t *testing.T) {
	plan := planFile(t, `"jobs": [{"kinds": ["lock"], "recipes": ["ours"]}], "episodes": 4, "canary": "none"`)
	store, dir := t.TempDir(), filepath.Join(t.TempDir(), "c")
	inTheWay := filepath.Join(store, "nights") // reads as a folder that is not there, and cannot be made
	if err := os.Symlink("nowhere", inTheWay); err != nil {
		t.Fatal(err)
	}
	start := func() *process {
		return command(t, "start", plan, "--dir", dir, "--workers", "1", "--failures", store)
	}
	p := start()
	if code, said := p.exit(t), p.said.String(); code != console.ExitUnknown || !strings.Contains(said, "not recorded") {
		t.Errorf("it ends with %d:\n%s", code, said)
	}
	if o := outcome(t, dir); len(o.Report.Jobs) != 1 {
		t.Errorf("the report has %d jobs", len(o.Report.Jobs))
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	p = start()
	if code := p.exit(t); code != 0 || outcome(t, dir).Night == nil {
		t.Errorf("once that is fixed it ends with %d:\n%s", code, p.said.String())
	}
}

// A known bug that is missed is not ok: whoever says how a campaign ended says the same.
func TestMissedBug(t *testing.T) {
	plan, dir := planFile(t, `"jobs": [{"animals": ["T1"]}], "episodes": 20, "unit": 10, "canary": "none"`), filepath.Join(t.TempDir(), "c")
	parts := t.TempDir()
	for unit, name := range []string{"0", "1"} {
		p := command(t, "part", "--plan", plan, "--unit", name, "--out", filepath.Join(parts, name+".json"))
		if code := p.exit(t); code != 0 {
			t.Fatalf("unit %d ends with %d", unit, code)
		}
	}
	for _, args := range [][]string{
		{"start", plan, "--dir", dir, "--workers", "1"}, {"report", dir}, {"merge", "--plan", plan, parts},
	} {
		p := command(t, args...)
		if code := p.exit(t); code != 1 || !strings.Contains(p.said.String(), "T1") {
			t.Errorf("%s ends with %d:\n%s", args[0], code, p.said.String())
		}
	}
}
