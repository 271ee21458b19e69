package certify_test

import (
	"bytes"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	_ "github.com/zktorture/zktorture/sim/prove"
	"github.com/zktorture/zktorture/sim/prove/certify"
	"github.com/zktorture/zktorture/sim/prove/internal/steps"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// told is one step as a search tells it.
type told struct {
	from  uint64
	by    string
	inner []int
	to    uint64
}

// claimOf is what a search that was told so would claim, and its file.
func claimOf(t *testing.T, bare certify.Claim, all []told) (certify.Claim, []byte) {
	t.Helper()
	var file bytes.Buffer
	w := steps.NewWriter(&file)
	states, ends, sum := map[uint64]bool{0: true}, map[uint64]bool{}, uint64(0)
	for _, s := range all {
		w.Step(s.from, s.by, s.inner, s.to)
		if ends[s.from] = ends[s.from] || s.to == 0; !states[s.to] {
			states[s.to] = true
			sum += digest.Mix(s.to)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for from, is := range ends {
		if !is {
			delete(ends, from)
		}
	}
	bare.States, bare.Ends, bare.Digest = len(states)-1, len(ends), digest.Hex(sum)
	return bare, file.Bytes()
}

// search makes a search of a small scope, if that comes to its end soon.
func search(t *testing.T, kind string, faults world.Faults, plain bool) (w world.Workload, bare certify.Claim, all []told, e tally.Extent) {
	t.Helper()
	w, err := workload.Find(kind, workload.Ours)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(t.Context(), w, sim.Config{Strategy: sim.Exhaustive, Clients: 2, Ops: 1, Faults: faults, NoFaultsAtAll: true,
		AtMost: 1, Plain: plain, Episodes: testkit.Sized(300, 6_000), Steps: func(from uint64, by string, inner []int, to uint64) {
			all = append(all, told{from, by, slices.Clone(inner), to})
		}})
	if err != nil {
		t.Fatal(err)
	}
	return w, certify.Claim{Clients: 2, Users: 1, Ops: 1, AtMost: 1, Faults: faults, Plain: plain, Runs: r.Extent.Runs}, all, r.Extent
}

func check(t *testing.T, w world.Workload, claim certify.Claim, file []byte, executions int) (certify.Report, error) {
	t.Helper()
	set, err := steps.Read(bytes.NewReader(file), claim.States)
	if err != nil {
		return certify.Report{}, err
	}
	return certify.Check(t.Context(), w, claim, set, executions, 1)
}

// What a search tells is what happens: the checker agrees with a sample of it, of large searches too, by default in a fifth of
// the runs.
func TestTheCheckerAgreesWithTheSearch(t *testing.T) {
	testkit.ManyWorlds(t)
	checked := 0
	for _, kind := range []string{"counter", "lock", "rwlock", "queue", "barrier", "doublebarrier"} {
		for f := range (world.EveryFault | world.NoFaults).Each() {
			for _, plain := range []bool{true, false} {
				w, bare, all, e := search(t, kind, f, plain)
				if e.Word != tally.Complete {
					continue
				}
				claim, file := claimOf(t, bare, all)
				if claim.States != e.States || claim.Ends != e.Ends || claim.Digest != digest.Hex(e.Digest) {
					t.Errorf("%s, %v, plain %v: told were %+v, of %v", kind, f, plain, claim, e)
				}
				r, err := check(t, w, claim, file, testkit.Sized(claim.Executions(), 4_000))
				if err != nil || r.Steps != len(all) {
					t.Errorf("%s, %v, plain %v: %v, %v", kind, f, plain, r, err)
				}
				if checked++; claim.Executions() > max(1, (e.Runs+e.States/32)/5) || len(file) > 20*e.States+1000 {
					t.Errorf("%s, %v: %d executions of %v, %d bytes", kind, f, claim.Executions(), e, len(file))
				}
			}
		}
	}
	if checked < testkit.Sized(20, 60) {
		t.Errorf("only %d searches were checked", checked)
	}
}

// accused are the episodes of a workload, and in each a property breaks.
type accused struct{ world.Workload }

type accusedEpisode struct{ world.Episode }

func (a accused) Plan(p *world.Plan) world.Episode { return accusedEpisode{a.Workload.Plan(p)} }

// Terms implements [world.Workload].
func (a accused) Terms() world.Terms {
	terms := a.Workload.Terms()
	if of := terms.Hash; of != nil {
		terms.Hash = func(e world.Episode, symmetric bool) (uint64, []uint64, bool) {
			return of(e.(accusedEpisode).Episode, symmetric)
		}
	}
	return terms
}

func (a accusedEpisode) Judge(w *world.World) world.Judgement {
	j := a.Episode.Judge(w)
	j.Violations = append(j.Violations, world.Violation{Property: "accused", Message: "it is wrong"})
	return j
}

// A file of which any part is forged is refused, although the certificate fits it.
func TestForgedStepsAreRefuted(t *testing.T) {
	testkit.ManyWorlds(t)
	w, bare, all, _ := search(t, "counter", world.Loss, true)
	first := func(is func(told) bool) int { return slices.IndexFunc(all, is) }
	strike := first(func(s told) bool { return s.by != "" && s.by[0] != '0' && s.to != 0 })
	setUp := len(all) - 1 // the last, in which a fault strikes
	for all[setUp].from != 0 {
		setUp--
	}
	over := first(func(s told) bool { return s.by == "0 0 over" })
	again := first(func(s told) bool { // a step to a state that was come to before
		return s.to != 0 && slices.IndexFunc(all, func(o told) bool { return o.to == s.to && o.from != s.from }) >= 0
	})
	forged := func(i int, change func(s *told)) []told {
		f := slices.Clone(all)
		f[i].inner = slices.Clone(f[i].inner)
		change(&f[i])
		return f
	}
	for name, f := range map[string]struct {
		want  string
		steps []told
	}{
		"step left out":     {"", slices.Delete(slices.Clone(all), strike, strike+1)},
		"state left out":    {"", slices.DeleteFunc(slices.Clone(all), func(s told) bool { return s.from == all[strike].to })},
		"last states gone":  {"the set is not closed", slices.DeleteFunc(slices.Clone(all), func(s told) bool { return s.from == all[over].from })},
		"state twice":       {"", slices.Insert(slices.Clone(all), over+1, all[over-1])},
		"another successor": {"the state is", forged(again, func(s *told) { s.to = all[strike].to })},
		"end too early":     {"the torture phase goes on", forged(again, func(s *told) { s.to = 0 })},
		"no end":            {"", forged(over, func(s *told) { s.to = all[strike].to })},
		"another state": {"the state is", func() []told {
			f := slices.Clone(all)
			for i := range f {
				for _, key := range []*uint64{&f[i].from, &f[i].to} {
					if *key == all[strike].to {
						*key++
					}
				}
			}
			return f
		}()},
		"another deed":    {"can happen in state", forged(strike, func(s *told) { s.by = "1 7 {0 0 3}" })},
		"another target":  {"can happen in state", forged(strike, func(s *told) { s.by = "1 0 {7 7 7}" })},
		"another set-up":  {"", forged(setUp, func(s *told) { s.inner[len(s.inner)-1]++ })},
		"set-up left out": {"answers to", all[:setUp]},
		"shorter set-up":  {"", forged(setUp, func(s *told) { s.inner = s.inner[:3] })},
		"nothing":         {"no episode begins", nil},
	} {
		claim, file := claimOf(t, bare, f.steps)
		_, err := check(t, w, claim, file, 1<<30)
		if err == nil || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%s: %v, wanted %q", name, err, f.want)
		}
	}

	claim, file := claimOf(t, bare, all)
	if r, err := check(t, w, claim, file, 1<<30); err != nil || !r.All || r.Wrong() != 0 {
		t.Errorf("as it was told: %v, %v", r, err)
	}
	if _, err := check(t, accused{w}, claim, file, 1<<30); !errors.Is(err, certify.ErrRefuted) || !strings.Contains(err.Error(), "it is wrong") {
		t.Errorf("an end that breaks a property: %v", err)
	}
	for name, change := range map[string]func(*certify.Claim){
		"states": func(c *certify.Claim) { c.States++ }, "ends": func(c *certify.Claim) { c.Ends++ },
		"digest": func(c *certify.Claim) { c.Digest = "00" }, "bound": func(c *certify.Claim) { c.AtMost = 2 },
		"faults": func(c *certify.Claim) { c.Faults = world.Expiry }, "all plans": func(c *certify.Claim) { c.Plain = false },
	} {
		other := claim
		change(&other)
		if _, err := check(t, w, other, file, 1<<30); !errors.Is(err, certify.ErrRefuted) {
			t.Errorf("another claim of %s: %v", name, err)
		}
	}
	flipped := slices.Clone(file)
	flipped[len(file)/2] ^= 4
	for name, bad := range map[string][]byte{"cut off": file[:len(file)-9], "flipped": flipped, "empty": nil, "text": []byte("{}")} {
		if _, err := check(t, w, claim, bad, 1); err == nil || !strings.Contains(err.Error(), "not a file of steps") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The checker shares nothing with the search but the world.
func TestTheCheckerImportsNoSearch(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(out)) {
		if strings.HasSuffix(line, "/sim") || strings.Contains(line, "/sim/prove") && !strings.HasSuffix(line, "/certify") && !strings.HasSuffix(line, "/internal/steps") {
			t.Errorf("it imports %s", line)
		}
	}
	if !strings.Contains(string(out), "/sim/world\n") {
		t.Errorf("what it imports is not known: %s", out)
	}
}
