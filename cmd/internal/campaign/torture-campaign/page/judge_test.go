package page

import (
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
)

// began is when the campaigns of these tests began.
var began = time.Date(2026, 11, 23, 22, 0, 0, 0, time.UTC)

// sung is the job of a canary that is found at its rate.
func sung() status.Job {
	return status.Job{
		Job: campaign.Job{Kind: "lock", Recipe: "zoo/canary", Animal: "canary", Canary: true, Strategy: "random", Seed: 1,
			Episodes: campaign.CanaryEpisodes},
		Units: 7, Done: 7, Episodes: 6400, Failures: 100,
		Found: []status.Found{{Property: "orphan", Message: "a znode is left", Times: 100, First: 12, Story: "the story"}},
	}
}

// running is a campaign in which all is well.
func running() status.Status {
	lock := status.Job{
		Job: campaign.Job{Kind: "lock", Recipe: "ours", Strategy: "mix", Seed: 1, Faults: "all", Clients: 3, Ops: 4,
			Episodes: 10_000},
		Units: 10, Done: 6, Episodes: 6000, Struck: map[string]int{"loss": 900, "crash": 100},
	}
	animal := lock
	animal.Job.Recipe, animal.Job.Animal, animal.Done = "published/WriteLock, bugs: W1", "W1", 3
	animal.Found = []status.Found{{Property: "exclusion", Message: "two hold it", Times: 7, First: 3}}
	return status.Status{
		Plan: &campaign.Plan{Format: campaign.PlanFormat, Name: "night",
			Limit: campaign.Duration(2 * time.Minute)}, Digest: "d16e57",
		State: status.Running, Began: began, Now: began.Add(10 * time.Minute), Ends: began.Add(17 * time.Minute),
		Units: 27, Done: 16, Last: began.Add(10*time.Minute - 2*time.Second), Unknown: map[int]string{},
		Episodes: 15_400, Steps: 3_000_000, Rate: 61.4,
		Workers: []status.Worker{{Name: "one", Build: "b1", System: "linux/amd64", Units: 16, Unit: 17,
			Last: began.Add(10 * time.Minute)}},
		Jobs: []status.Job{sung(), lock, animal},
	}
}

// ended is how it has ended.
func ended() status.Status {
	s := running()
	s.State, s.Done, s.Jobs[1].Done, s.Jobs[2].Done, s.Ends = status.Ended, 27, 10, 10, time.Time{}
	return s
}

// reported is its report.
func reported() *campaign.Report {
	s := ended()
	r := &campaign.Report{Format: campaign.ReportFormat, Plan: s.Plan, Digest: s.Digest, Units: s.Units}
	for _, job := range s.Jobs {
		j := campaign.JobReport{Job: job.Job, Result: sim.Result{Counts: tally.Counts{Episodes: job.Episodes}, Verdict: sim.VerdictOK, Struck: job.Struck}}
		for _, f := range job.Found {
			j.Verdict = sim.VerdictViolation
			j.Failures = append(j.Failures, campaign.Failure{ID: "f-" + f.Property, Property: f.Property, Message: f.Message,
				Times: f.Times,
				First: f.First, Story: f.Story})
		}
		if job.Job.Animal != "" {
			j.Hunt = &campaign.Hunt{Property: "exclusion", Found: true}
		}
		r.Jobs = append(r.Jobs, j)
	}
	return r
}

func TestJudge(t *testing.T) {
	type test struct {
		name    string
		s       status.Status
		r       *campaign.Report
		verdict Verdict
		says    []string // in this order; none: nothing is said
	}
	of := func(name string, s status.Status, verdict Verdict, change func(*status.Status), says ...string) test {
		change(&s)
		return test{name, s, nil, verdict, says}
	}
	by := func(name string, verdict Verdict, change func(*campaign.Report), says ...string) test {
		r := reported()
		change(r)
		return test{name, ended(), r, verdict, says}
	}
	nothing := func(*status.Status) {}
	for _, c := range []test{
		of("all is well", running(), Running, nothing),
		of("all was well", ended(), OK, nothing),
		of("of the animals nothing is expected but the canary", ended(), OK,
			func(s *status.Status) { s.Jobs[2].Found = nil }),
		of("a recipe broke", running(), Violation, func(s *status.Status) { s.Jobs[1].Found = s.Jobs[2].Found }),
		of("a unit takes long", running(), Running, func(s *status.Status) { s.Last = s.Now.Add(-4 * time.Minute) }),
		of("no result comes", running(), Red, func(s *status.Status) { s.Last = s.Now.Add(-4*time.Minute - time.Second) },
			"The last result is 4m1s old, and a unit may take 2m0s: "),
		of("no result ever came", running(), Red, func(s *status.Status) { s.Last = time.Time{} },
			"There is no result after 10m0s, and a unit may take 2m0s: "),
		of("the clock was put back", running(), Running, func(s *status.Status) { s.Last = s.Now.Add(time.Hour) }),
		of("what was found is minimised", running(), Running, func(s *status.Status) {
			s.State, s.Last = status.Concluding, s.Now.Add(-time.Hour)
		}),
		of("no worker", running(), Red, func(s *status.Status) { s.Workers = nil }, "No worker takes part. Start one"),
		of("no worker yet", running(), Running, func(s *status.Status) { s.Workers, s.Now = nil, s.Began.Add(time.Minute) }),
		of("no worker after the end", ended(), OK, func(s *status.Status) { s.Workers = nil }),
		of("a worker that is gone", running(), Red,
			func(s *status.Status) { s.Workers[0].Last = s.Now.Add(-61 * time.Second) },
			"No worker takes part: the last was heard of more than 1m0s ago"),
		of("a worker that is refused", running(), Red,
			func(s *status.Status) { s.Workers[0].Refused = "its build is b2\x1b[2J." },
			`No worker takes part: 1 is refused, the first because its build is b2\u001b[2J. Start workers`),
		of("one of two workers is refused", running(), Running, func(s *status.Status) {
			s.Workers = append(s.Workers, status.Worker{Name: "two", Refused: "its build is b2"})
		}),
		of("it ran nothing", ended(), Red, func(s *status.Status) { s.Jobs[1].Episodes, s.Jobs[2].Episodes = 0, 0 },
			"It ran nothing: "),
		of("it has run nothing yet", running(), Running, func(s *status.Status) {
			s.Jobs[1].Episodes,
				s.Jobs[2].Episodes = 0, 0
		}),
		of("the canary is missed", running(), Red, func(s *status.Status) { s.Jobs[0].Found = nil },
			"The canary is missed (lock (zoo/canary), known bug canary, strategy random, seed 1, faults ): it was "+
				"found in 0 of 6400 episodes, and should be in about 1.6 %."),
		of("another property of the canary", running(), Red, func(s *status.Status) { s.Jobs[0].Found[0].Property = "order" },
			"The canary is missed"),
		of("the canary sings too often", running(), Red, func(s *status.Status) { s.Jobs[0].Found[0].Times = 1000 },
			"The canary is found too often"),
		of("the canary has just begun", running(), Running, func(s *status.Status) {
			s.Jobs[0].Episodes, s.Jobs[0].Found = 100, nil
		}),
		of("the canary was hardly run", ended(), Red, func(s *status.Status) {
			s.Jobs[0].Episodes, s.Jobs[0].Found = 100,
				nil
		},
			"It is not known whether the canary is found at its rate"),
		of("the canary was not run", ended(), Red, func(s *status.Status) { s.Jobs = s.Jobs[1:] }, "The canary was not run"),
		of("no canary is wanted", ended(), OK, func(s *status.Status) { s.Jobs, s.Plan.Canary = s.Jobs[1:], "none" }),
		of("units without a result", ended(), Unknown, func(s *status.Status) {
			s.Done, s.Unknown = 24, map[int]string{9: "it froze", 3: "out of memory", 10: "it froze"}
		}, "No result of unit 3: out of memory. Run it alone: torture-campaign part --plan PLAN --unit 3.",
			"No result of units 9-10: it froze. Run it alone: torture-campaign part --plan PLAN --unit 9."),
		of("many reasons", ended(), Unknown, func(s *status.Status) {
			s.Done, s.Unknown = 20, map[int]string{1: "a", 2: "b", 3: "c", 4: "d", 5: "e", 6: "f", 7: "g"}
		}, "No result of unit 1: a",
			"No result of unit 2", "No result of unit 3", "No result of unit 4", "No result of unit 5: e",
			"And other units gave no result: there are 7 in all."),
		of("it was ended early", ended(), Unknown, func(s *status.Status) { s.Done = 20 },
			"It ended with 7 of 27 units not done"),
		of("units that differ", ended(), Red, func(s *status.Status) { s.Twice, s.Unequal = 3, []int{8, 9} },
			"Done twice, and not equal: units 8-9. A recipe, or the simulator, depends on more than its choices: "+
				"run torture-campaign part --plan PLAN --unit 8 twice, and compare."),
		of("a full disk", running(), Red, func(s *status.Status) { s.Problems = []string{"the disk is full."} },
			"The coordinator has a problem: the disk is full."),
		of("red and broken", ended(), Violation, func(s *status.Status) {
			s.Jobs[1].Found, s.Jobs[0].Found = s.Jobs[2].Found, nil
		}, "The canary is missed"),

		by("its report", OK, func(*campaign.Report) {}),
		by("it is reported that a recipe broke", Violation, func(r *campaign.Report) {
			r.Jobs[1].Verdict, r.Jobs[1].Failures = sim.VerdictViolation, r.Jobs[2].Failures
		}),
		by("a job without a verdict", Unknown, func(r *campaign.Report) {
			r.Jobs[1].Verdict, r.Jobs[1].Reason = sim.VerdictUnknown, "no episode was run"
		}, "1 job has no verdict: lock (ours), strategy mix, seed 1, faults all: no episode was run."),
		by("a unit that froze", Unknown, func(r *campaign.Report) { r.Unknown = map[int]string{5: "it froze"} },
			"No result of unit 5: it froze."),
		by("it is reported that nothing ran", Red, func(r *campaign.Report) { r.Jobs[1].Episodes, r.Jobs[2].Episodes = 0, 0 },
			"It ran nothing"),
		by("the canary is reported as missed", Red, func(r *campaign.Report) { r.Jobs[0].Failures = nil },
			"The canary is missed"),
		by("a known failure breaks again", Violation, func(r *campaign.Report) {
			r.Plan.Known = []campaign.Known{{ID: "k", Counterexample: &sim.Counterexample{Workload: "lock", Recipe: "ours"}}}
			r.Again = []campaign.KnownReport{{ID: "k", Again: campaign.Again{Breaks: true}}}
		}),
		by("a known failure no longer breaks", OK, func(r *campaign.Report) {
			r.Plan.Known = []campaign.Known{{ID: "k", Counterexample: &sim.Counterexample{Workload: "lock", Recipe: "ours"}}}
			r.Again = []campaign.KnownReport{{ID: "k"}}
		}),
		{"a report alone", status.Status{}, reported(), OK, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := judge(c.s, c.r)
			said := j.Reasons()
			if j.Verdict != c.verdict || len(said) != len(c.says) {
				t.Fatalf("it is %s, not %s, and says %q", j.Verdict, c.verdict, said)
			}
			for i := range said {
				if !strings.HasPrefix(said[i], c.says[i]) {
					t.Errorf("it says %q, not %q", said[i], c.says[i])
				}
			}
		})
	}
}

func TestExit(t *testing.T) {
	for v, want := range map[Verdict]int{OK: 0, Violation: 1, Unknown: 2, Red: 2, Running: 2} {
		if got := v.Exit(); got != want {
			t.Errorf("%s ends with %d", v, got)
		}
	}
}
