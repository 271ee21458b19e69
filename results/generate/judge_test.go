package main

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/bubbles"
	"github.com/zktorture/zktorture/workload"
)

// usual is the percentage that is noticed: more than is promised, so that a judge that gets weaker in one
// rule of many is seen.
const usual = 99

// TestCorruptionsAreNoticed measures what results/judge.md says at a small size: of the corruptions of what
// clients saw that change the outcome, by a reference that tries all orders, the judge notices at least so
// many as are promised, and it accuses none of the others.
func TestCorruptionsAreNoticed(t *testing.T) {
	bubbles.Many(t)
	total := &trial{}
	for _, s := range subjects() {
		if s.entry.Recipe != workload.Ours {
			continue
		}
		one, err := s.run(t.Context(), 150, 10)
		if err != nil {
			t.Fatal(err)
		}
		if err := one.problem(); err != nil || one.drawn < 300 || one.undecided*100 > one.drawn || 100*one.noticed < usual*one.changed {
			t.Errorf("%s, %s: %v of %+v", s.entry.Kind, s.name(), err, one)
		}
		t.Logf("%s, %s: %d corruptions, %d legal all the same, %d of %d others noticed, %d unclear, %d untried",
			s.entry.Kind, s.name(), one.drawn, one.legal(), one.noticed, one.changed, one.puzzled, one.undecided)
		total.add(one)
	}
	p := &page{}
	if err := survivors(p, total); err != nil {
		t.Error(err)
	}
	t.Logf("%s", p.bytes())
}

// Every workload that has a model is measured.
func TestSubjects(t *testing.T) {
	kinds := map[string]bool{}
	for _, s := range subjects() {
		kinds[s.entry.Kind] = true
	}
	for _, kind := range workload.Kinds() {
		if kind.Model.Name != "" && !kinds[kind.Name] {
			t.Errorf("%s has a model, and is not measured", kind.Name)
		}
	}
	if !kinds["doublebarrier"] || len(subjects()) < 2*len(kinds) {
		t.Errorf("subjects: %v", kinds)
	}
}

// What must not be is said, and nothing else.
func TestTrialProblem(t *testing.T) {
	for want, one := range map[string]trial{
		"":                       {drawn: 100, changed: 100, noticed: 95},
		"94 were noticed":        {drawn: 100, changed: 100, noticed: 94},
		"0 were noticed":         {drawn: 100},
		"2 corruptions that are": {drawn: 100, changed: 9, noticed: 9, accused: 2},
		"3 histories that":       {drawn: 100, changed: 9, noticed: 9, disputed: 3},
	} {
		switch err := one.problem(); {
		case want == "" && err != nil:
			t.Error(err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%+v: %v, want %q", one, err, want)
		}
	}
	strange := &trial{}
	strange.of(corruptionKind{"turn", "wheel"}).drawn = 1
	if err := survivors(&page{}, strange); err == nil || !strings.Contains(err.Error(), "a turn of wheel can be legal") {
		t.Errorf("what has no reason gave %v", err)
	}
}

// A page keeps the sections that are not measured, in their order.
func TestSections(t *testing.T) {
	texts := map[string]string{}
	for _, s := range judgeSections {
		texts[s.name] = "## About " + s.name + "\n\ntext\n"
	}
	if again := splitSections(joinSections(texts)); len(again) != len(judgeSections) || again[judgeSections[0].name] != texts[judgeSections[0].name] {
		t.Errorf("%q became %q", texts, again)
	}
	if err := measureJudge(t.Context(), []string{"weather"}); err == nil || !strings.Contains(err.Error(), "corruptions") {
		t.Errorf("an unknown section gave %v", err)
	}
}

// Correct histories are counted once each; many more are judged by the tests of linearizability.
func TestInnocents(t *testing.T) {
	n, err := judgeInnocents(t.Context(), "queue", 6)
	if err != nil || n.histories != 6 || n.ok != 6 || n.operations < 6000 || n.stale == 0 || n.doubtful == 0 {
		t.Errorf("%+v, %v", n, err)
	}
	if _, err := judgeInnocents(t.Context(), "stack", 1); err == nil {
		t.Error("stacks were judged")
	}
}
