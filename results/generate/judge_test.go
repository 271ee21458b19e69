package main

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/workload"
)

// usual is the percentage noticed. It is more than promised, so that a judge that gets weaker in one rule of many
// fails.
const usual = 99

// TestCorruptionsAreNoticed measures results/judge.md at a small size. Of the corruptions that are illegal by a
// reference that tries all orders, the judge notices at least the promised share. It accuses none of the others.
func TestCorruptionsAreNoticed(t *testing.T) {
	testkit.ManyWorlds(t)
	total := &trial{}
	for _, s := range subjects() {
		if s.entry.Recipe != workload.Ours {
			continue
		}
		one, err := s.run(t.Context(), 150, 10)
		if err != nil {
			t.Fatal(err)
		}
		if err := one.problem(); err != nil || one.Drawn < 300 || one.Undecided*100 > one.Drawn ||
			100*one.Noticed < usual*one.Changed {
			t.Errorf("%s, %s: %v of %+v", s.entry.Kind, s.name(), err, one)
		}
		t.Logf("%s, %s: %d corruptions, %d legal all the same, %d of %d others noticed, %d unclear, %d untried",
			s.entry.Kind, s.name(), one.Drawn, one.Legal(), one.Noticed, one.Changed, one.Puzzled, one.Undecided)
		total.add(one)
	}
	legal, err := survivors(total)
	if err != nil {
		t.Error(err)
	}
	for _, s := range legal {
		t.Logf("%+v, %d of %d: %s", s.corruptionKind, s.Legal(), s.Drawn, s.Reason)
	}
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

// Every forbidden result is reported, and no other.
func TestTrialProblem(t *testing.T) {
	for want, one := range map[string]trial{
		"":                       {Drawn: 100, Changed: 100, Noticed: 95},
		"94 were noticed":        {Drawn: 100, Changed: 100, Noticed: 94},
		"0 were noticed":         {Drawn: 100},
		"2 corruptions that are": {Drawn: 100, Changed: 9, Noticed: 9, Accused: 2},
		"3 histories that":       {Drawn: 100, Changed: 9, Noticed: 9, Disputed: 3},
	} {
		switch err := one.problem(); {
		case want == "" && err != nil:
			t.Error(err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%+v: %v, want %q", one, err, want)
		}
	}
	strange := &trial{}
	strange.of(corruptionKind{"turn", "wheel"}).Drawn = 1
	if _, err := survivors(strange); err == nil || !strings.Contains(err.Error(), "a turn of wheel can be legal") {
		t.Errorf("what has no reason gave %v", err)
	}
}

// A page keeps the unmeasured sections, in their order.
func TestSections(t *testing.T) {
	texts := map[string]string{}
	for _, s := range judgeSections {
		texts[s.name] = "## About " + s.name + "\n\ntext\n"
	}
	page, err := joinSections(texts)
	if err != nil {
		t.Fatal(err)
	}
	if again := splitSections(page); len(again) != len(judgeSections) ||
		again[judgeSections[0].name] != texts[judgeSections[0].name] {
		t.Errorf("%q became %q", texts, again)
	}
	if err := measureJudge(t.Context(), []string{"weather"}); err == nil ||
		!strings.Contains(err.Error(), "corruptions") {
		t.Errorf("an unknown section gave %v", err)
	}
}

// Correct histories are counted once each. The tests of linearizability judge many more.
func TestInnocents(t *testing.T) {
	n, err := judgeInnocents(t.Context(), "queue", 6)
	if err != nil || n.Histories != 6 || n.OK != 6 || n.Operations < 6000 || n.Stale == 0 || n.Doubtful == 0 {
		t.Errorf("%+v, %v", n, err)
	}
	if _, err := judgeInnocents(t.Context(), "stack", 1); err == nil {
		t.Error("stacks were judged")
	}
}
