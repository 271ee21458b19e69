package main

import (
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/results/internal/mutants"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/zoo"
)

var lost = violation{Property: "lost", Message: "it is gone", Episode: 22, Times: 2,
	Struck: "c1's request 8: expiry after", history: []byte("{}\n")}

// samples are data for each template, with lines of the result.
var samples = []struct {
	name  string
	data  any
	lines string
}{
	{"search", searchedPage(), `| mix | 2 | 1,500 | 500 | 1,000 | 0 | 1 of 20 | 0 |
| random | 2 | 3,000 | 1,000 | 2,000 | 1 | 0 of 20 | 0 |
| mix | 0.50 (0.50–0.50) | 0.25 (0.25–0.25) | 0.50 (0.50–0.50) | 0.25 (0.25–0.25) |
| animal | mix | random | random of da026b3 |
| W9 | 1,000 | 2,000 | 4,000 |
| W7 | 500 | 1,000 | 2,000 |`},
	{"confirmed", confirmedPage([]replays{{"W2", "2026-11-26", []string{"confirmed", "not so"}}, {"W1", "2026-11-25", []string{"confirmed"}}}),
		`| W1 | the predecessor vanishes between list and watch, and nobody wakes the waiter | lost-wakeup | 2026-11-25 | confirmed 1 of 1 |
| W2 | names are compared by session before sequence: a later client is first too | exclusion | 2026-11-26 | confirmed 1 of 2; 1: not so |

1 of 2 are confirmed each time, 1 sometimes. Not measured yet: W3, W4`},
	{"changes", facts{"Found": 1, "Changes": []*change{
		{File: "a.go", Kind: "lock", Clients: "2", Ops: "2", Old: "	a || b", New: "	a", Faults: "none", Property: "order", Extent: tally.Extent{Runs: 1234}},
		{File: "a.go", Kind: "lock", Clients: "2", Ops: "1", Old: "	a || b", New: "	a", Faults: "none", Extent: tally.Extent{Word: tally.Complete}},
		{File: "b.go", Kind: "lock", Clients: "2", Ops: "1", Old: "	a || b", New: "	a", Faults: "loss", Extent: tally.Extent{Word: tally.Complete}},
	}}, "| `a \\|\\| b` → `a` | a.go | lock 2 × 2 | none | order | 1,234 |" + `
` + "| `a \\|\\| b` → `a` | a.go | lock 2 × 1 | none | COMPLETE | 2 × 2: order |" + `
` + "| `a \\|\\| b` → `a` | b.go | lock 2 × 1 | loss | COMPLETE | |"},
	{"zoo", facts{
		"Seeds": 10, "EpisodesMax": 20000, "Absentees": []zoo.Absent{{ID: "C7", Reason: "none was found"}},
		"Animals": []animal{{Animal: zoo.Animal{ID: "W1", Source: "a book"}, Hits: 1,
			Catches: []zoo.Catch{{TwinClean: true, TwinEpisodes: 20000, Episodes: 5}}}},
		"Sum": 1234, "Rare": 1, "Missed": 1, "Hunts": 350, "Accused": 0, "Clients": 1, "Operations": 3, "Faults": 1,
	}, `| W1 |  | a book |  |  | 1 of 1 | 5 | 0 | 0 | 0 | 0 | clean in 20,000 |

The median story has 1 clients, 3 operations, 1 faults.
1 of 350 hunts missed (at most 2 % may); 0 twins were accused.

Published bugs without an animal:

- C7: none was found.`},
	{"million", facts{"Episodes": 1000000, "Seed": 1, "Faults": []world.Faults{world.Loss, world.Wrap}, "Spared": spared,
		"Record": []campaign{{
			Kind: "lock", Recipe: "ours", Verdict: sim.VerdictOK,
			Episodes: 1000000, Operations: 11194747, Steps: 60046359,
			MB: 16, Date: "2026-11-21", Hash: "5f", Struck: map[string]int{"loss": 711000},
		}}}, "| lock | ours | ok | 0 | 0 | 1,000,000 | 11,194,747 | 60,046,359 | 16 MB | 2026-11-21 | `5f` |" + `

How often each fault struck:

| workload | recipe | loss | wrap |
|---|---|---|---|
| lock | ours | 711,000 | 0 |

A 0 is expected where a fault finds nothing to strike:

- barrier: reap, because its znode has no children
- counter: watch, because it watches nothing`},
	{"mutants", facts{
		"Package": "recipes", "File": "results/mutants.txt", "Viable": 591, "Broken": 31, "Score": 93.57,
		"BySimulation": 415,
		"ByAnother":    138, "Left": []mutants.Mutant{{}},
		"Arguments": map[string]string{mutants.Mutant{}.Change(): "It is the same."},
	}, "| 591 | 415 | 138 | 1 | 93.6 % |\n\n" +
		"31 more do not compile and are not counted. " +
		"Those that live, and why that is no hole (`results/mutants.txt`):\n\n- `" +
		mutants.Mutant{}.Change() + "`  \n  It is the same."},
	{"judge-correct", facts{"Histories": 10000, "Time": 200 * time.Millisecond, "Models": []innocent{{
		"queue", 1112, 3414708, 901, 552, 1112, 0, 0, 13*time.Millisecond + 9,
	}}}, "`StaleReads`. None may be *accused*. A history may take 200ms.\n" + `
| model | histories | operations | with unknown outcomes | with stale reads | ok | undetermined | accused | slowest |
|---|---|---|---|---|---|---|---|---|
| queue | 1,112 | 3,414,708 | 901 | 552 | 1,112 | 0 | 0 | 13ms |`},
	{"judge-corruptions", facts{
		"Episodes": 2000, "Each": 10, "Min": 95, "Percent": 99.994184, "Unnoticed": 17,
		"Trials": []*trial{{Workload: "lock", Recipe: "ours", Histories: 2000, Drawn: 19609,
			Changed: 17442, Noticed: 17442}},
		"Survivors": []survivor{{corruptionKind{"drop", "add"},
			&trial{Drawn: 5464, Changed: 4928, Doubtful: 536}, "it may"}},
	}, `| lock | ours | 2,000 | 19,609 | 2,167 | 17,442 | 17,442 | 0 | 0 | 0 |

Noticed: 99.994 % of the corruptions that change the outcome; 17 were not. (Each is written to the standard error.)

### Those that are legal all the same
| drop | add | 5,464 | 536 | 536 | it may |`},
	{"judge-scale", facts{"Operations": 100000, "Seconds": 5.0, "MB": 500, "Checks": []scaled{{
		scaleShape{Name: "all at once", Model: "barrier"},
		checked{Verdict: "violation", Rule: "order", Certificate: 2, Processor: 0.232, MB: 118}, 100010,
	}}}, `produce has to be decided in 5 s of the processor and 500 MB. Not decided is which of n amounts make up a number: that is a
| barrier | all at once | 100,010 | violation order | 2 | 0.23 | 118 MB |`},
	{"certificates", facts{"Most": time.Minute, "Reductions": []string{"states: seen before"}, "NotCovered": []string{"other times"},
		"Rows": []certification{
			{Extent: tally.Extent{Word: "COMPLETE", Ends: 3078, States: 26532, Runs: 11902}, Kind: "lock", Recipe: "ours",
				Bound: "2 × 1", Faults: "loss", Sum: "5599f4520a58e7e6"},
		}}, `| lock (ours) | 2 × 1 | loss | COMPLETE | 3,078 | 26,532 | 11,902 | 0s | 5599f4520a58e7e6 |
- states: seen before
- other times`},
	{"faster", facts{"Base": "da026b3", "Rounds": 5, "Episodes": 1500,
		"Kinds": []compared{{Kind: "queue", Episode: 1.17, Step: 1.23,
			Before: cost{CPU: time.Second, Episodes: 1000, Steps: 50_000, Allocations: 700_000},
			Now:    cost{CPU: time.Second / 2, Episodes: 1000, Steps: 50_000, Allocations: 450_000}}},
	}, `| queue | 1000 | 500 | 1.17 | 20.00 | 10.00 | 1.23 | 700 | 450 | 14.0 | 9.0 |`},
	{"judge-files", facts{"Operations": 1000000, "Clients": 16, "Cores": 2, "Runs": 9, "Checks": []named{
		{"queue", checked{Verdict: "ok", Wall: 0.386, Processor: 0.514, MB: 361}},
	}}, "`torture check FILE --model M` on 2 cores: 1,000,000 operations of 16 clients that are nearly always busy, 1 % of them" + `
| queue | ok | 0.39 | 0.51 | 361 MB |`},
	{"judging", facts{
		"Operations": 1000000, "Clients": 16, "Window": 96,
		"Whole":   []named{{"queue", checked{Verdict: "ok", Processor: 1.581, MB: 358}}},
		"Streams": []sized{{"lock", 100000, checked{Verdict: "ok", Processor: 0.26, MB: 29}}},
		"Hard": []sized{{"priorityqueue", 20000,
			checked{Verdict: "violation", Rule: "order", Wall: 5.04, MB: 518}}},
	}, `| queue | ok | 0 | 1.58 | 358 MB |

## From a pipe, in memory that does not grow
| lock | 100,000 | ok | 0.26 | 29 MB |

## The history that no search can decide
| 20,000 | violation | 5.0 | 518 MB |`},
	{"foreign", facts{
		"Duration": "1m", "Server": "3.8.0", "Libraries": map[string]foreignLibrary{"kazoo": {Version: "kazoo 2.8.0",
			Shown: "python3"}},
		"Recipes": []tortured{{&runResult{Verdict: "violation", Episodes: 96, Operations: 822, Elapsed: 62,
			Violations: []violation{lost, lost}}, "kazoo's Queue", []shown{
			{Text: "### It loses", Case: &foreignCase{Kind: "queue", Seed: 3, Clients: 1, Ops: 1, Rounds: 31, With: 5,
				Violation: lost}},
			{Text: "### It lies", Hunt: &luckyHunt{Faults: "none", Duration: "1m", Rounds: 1000}},
			{Text: "### It sleeps", Hunt: &luckyHunt{Faults: "none", Duration: "1m", Rounds: 1000, Seen: &lost}},
			{Text: "### It hides", Unseen: 480},
		}}, {&runResult{Verdict: "ok"}, "kazoo's Lock", nil}},
	}, "real servers, those of servers too. The servers are ZooKeeper 3.8.0. What follows `exec:` is\n\n" +
		"- for kazoo (kazoo 2.8.0): `python3`\n" + `
A fault counts as struck if an operation of its client was under way. What is said to be broken is explained below, with
| kazoo's Queue | violation | lost 2, lost 2 | 96 | 822 |  | 1.0 |
| kazoo's Lock | ok |  | 0 | 0 |  | 0.0 |

## kazoo's Queue

What was seen first of each property in the 1m of torture, and what had struck in its round or lasted then:

- *lost*, round 22 (c1's request 8: expiry after): it is gone.
- *lost*, round 22 (c1's request 8: expiry after): it is gone.

### It loses

Smallest case found: ` + "`torture live queue --start 1 --recipe 'exec:…' --seed 3 --clients 1 --ops 1 --episodes 31 --faults-from FILE`," + `
where the FILE is

` + "```json\n```" + `

It was seen again in 5 of 5 runs; with an empty FILE, in 0 of 5. What the clients saw in round 22:

` + "```json\n{}\n```" + `

*lost*: it is gone.

### It lies

With ` + "`--faults none --duration 1m`" + ` instead of all, there were 1,000 rounds.
It was not seen in them: it needs luck.

### It sleeps

With ` + "`--faults none --duration 1m`" + ` instead of all, there were 1,000 rounds.
*lost* was broken in 2 of them. What the clients saw in round 22:

` + "```json\n{}\n```" + `

*lost*: it is gone.

### It hides

It was not seen in 480 small rounds.
`},
	{"foreigngo", facts{"Duration": "1m", "Episodes": 9, "Server": "3.8", "Recipes": []goTortured{{
		goRecipe: goRecipes[0], Version: "v1", Simulated: orphaned, Real: tortured{runResult: orphaned},
		Defects: []goShown{
			{shown{Text: "### One", Case: &foreignCase{Kind: "lock", Ops: 3}}, "loss", &simStory{
				Property: "orphan", Message: "it stays", Trace: []string{"0 create", "1 ! loss"}, Times: 7, Episodes: 9,
			}},
			{shown{Text: "### Other"}, "none", nil},
		},
	}}}, "| zk.Lock | github.com/go-zookeeper/zk v1, BSD-3-Clause | itself; takes a *zk.Conn | violation: orphan 7 | " +
		"violation: orphan 7 (0 rounds) |" + `
### One
In simulation, with ` + "`--faults loss`" + `, *orphan* was broken in 7 of 9 episodes. The smallest story: it stays.
0 create
1 ! loss
On real servers: 
Smallest case found: ` + "`torture live lock --start 1 --recipe 'exec:…' --seed 0 --clients 0 --ops 3 --episodes 0 --faults-from FILE`," + `
### Other
`},
	{"served", facts{
		"Duration": "1m", "Server": "3.8.0", "Again": 5, "Cleanup": "### It stays",
		"Libraries": map[string]foreignLibrary{"kazoo": {Version: "kazoo 2.8.0", Shown: "python3"}},
		"Recipes": []onBoth{{"kazoo's Lock",
			&runResult{Verdict: "violation", Episodes: 96, Operations: 822, Elapsed: 62, Violations: []violation{lost}},
			&runResult{Verdict: "ok", Episodes: 90, Operations: 800, Faults: map[string]int{"loss": 3}},
			[]servedCase{{
				"kazoo-lock-cleanup",
				&foreignCase{cause: cleanup, Seed: 2, Clients: 1, Ops: 3, Rounds: 7, Violation: lost,
					plan: []live.Fault{{Round: 6, Client: 1, Request: 7, Fault: "loss", Variant: "before"}}},
				[]repeats{{"serve", 4, 0}, {"ensemble", 5, 1}},
			}},
		}},
	}, "- for kazoo (kazoo 2.8.0): `python3`\n" + `
| kazoo's Lock | serve | violation | lost 2 | 96 | 822 |  | 1.0 |
| | real, same faults | ok |  | 90 | 800 | loss 3 | 0.0 |

| kazoo's Lock | ` + "`Lock.acquire` leaves its znode behind when it gives up | lost | " +
		"`" + `{"round":6,"client":1,"request":7,"fault":"loss","variant":"before"}` + "` | " +
		"2 1 3 7 | 4 of 5, 0 of 5 | 5 of 5, 1 of 5 |" + `

### It stays
`},
	{"identities", identityFacts(identified()), `above all in one recipe, where the second must not hide behind the first. 3 animals of the zoo were hunted with 6 seeds
each, and the 5 smallest stories identified in several ways.
| the property | 1 | 1.00 | 3 | 0.0 % | 1 of 1 | 1 of 1 | 1 of 1 |
| … and the faults, with what they hit | 2 | 1.33 | 3 | 66.7 % | 1 of 1 | 1 of 1 | 0 of 1 |
| exclusion-18d33a06 | wrap; last answer: get ok | W14, W2 |
| exclusion-bdab79bb | no fault, users: 0; last answer: get ok | W14, L7 |`},
}

// orphaned is a run that has left znodes behind.
var orphaned = &runResult{Verdict: "violation", Violations: []violation{{Property: "orphan", Times: 7}}}

// Every template can be filled, and its lines are as wanted, in this order.
func TestPages(t *testing.T) {
	filled := map[string]bool{"judge.tmpl": true} // by TestSections
	for _, s := range samples {
		text, err := fill(s.name, s.data)
		if err != nil {
			t.Fatal(err)
		}
		rest := text
		for line := range strings.Lines(s.lines) {
			_, after, found := strings.Cut(rest, line)
			if !found {
				t.Fatalf("%s: no %q where it is wanted in\n%s", s.name, line, text)
			}
			rest = after
		}
		filled[s.name+".tmpl"] = true
	}
	files, err := texts.ReadDir("pages")
	for _, file := range files {
		if err != nil || !filled[file.Name()] {
			t.Errorf("%s is not filled by this test (%v)", file.Name(), err)
		}
	}
}
