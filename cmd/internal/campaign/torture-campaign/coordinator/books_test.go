package coordinator

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
)

// planOf reads a plan of jobs over two recipes.
func planOf(t *testing.T, fields string) *campaign.Plan {
	t.Helper()
	p, err := campaign.ParsePlan([]byte(`{"format": "zktorture plan 1", "name": "test", "canary": "none", "jobs": [
		{"kinds": ["lock"], "recipes": ["ours"], "strategies": ["random", "mix"]}], ` + fields + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func booksOf(t *testing.T, fields string) *books {
	t.Helper()
	b, err := newBooks(planOf(t, fields))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// numbers are the units that are asked for.
func numbers(list []engine.Task) (units []int) {
	for _, q := range list {
		units = append(units, q.N)
	}
	return units
}

var now = time.Unix(1, 0)

// result is what comes of a unit.
func (b *books) result(n int) engine.Logged {
	u, _ := b.plan.Unit(n)
	return engine.Logged{Seq: b.Seq + 1, Answer: engine.Answer{
		Kind: engine.Unit, N: n, Plan: b.plan.Digest(), Worker: "w", Try: b.Tries[task{engine.Unit, n}.String()].Next,
		Unit: &campaign.UnitResult{
			Format: campaign.UnitFormat, Plan: b.plan.Digest(), Unit: u, Part: &tally.Part{Counts: tally.Counts{Episodes: u.Episodes}},
		},
	}}
}

// failure is a try that gave nothing.
func (b *books) failure(n, try int, worker, why string) engine.Logged {
	return engine.Logged{Seq: b.Seq + 1, Answer: engine.Answer{
		Kind: engine.Unit, N: n, Try: try, Plan: b.plan.Digest(), Worker: worker, Failed: why}}
}

func count(t *testing.T, b *books, l engine.Logged) {
	t.Helper()
	if err := b.count(l, now); err != nil {
		t.Fatal(err)
	}
}

// Units are asked for in their order, no more at a time than the window has; an answer opens it for the next one.
func TestWindow(t *testing.T) {
	b := booksOf(t, `"episodes": 30, "unit": 5`) // 12 units
	if got := numbers(b.wanted(4)); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("first %v are wanted", got)
	}
	if got := b.wanted(4); len(got) > 0 {
		t.Errorf("then %v, though nothing is answered", numbers(got))
	}
	count(t, b, b.result(2))
	count(t, b, b.result(2))
	count(t, b, b.result(0))
	if got := numbers(b.wanted(4)); !slices.Equal(got, []int{4, 5}) {
		t.Errorf("after two answers %v are wanted", got)
	}
	if b.sum.Twice != 1 || len(b.sum.Done) != 2 || b.JobDone[0] != 2 {
		t.Errorf("done %d and twice %d, of the first job %d", len(b.sum.Done), b.sum.Twice, b.JobDone[0])
	}
}

// An answer that the books have counted is not counted when the log is read again.
func TestCountedBefore(t *testing.T) {
	b := booksOf(t, `"episodes": 30, "unit": 5`)
	l := b.result(0)
	count(t, b, l)
	count(t, b, l)
	if b.sum.Twice != 0 {
		t.Error("reading the log again counts as doing a unit again")
	}
}

// A unit that fails is asked for again, of others first, and given up after as many tries as the plan has. A try counts
// once.
func TestTries(t *testing.T) {
	b := booksOf(t, `"episodes": 5, "unit": 5, "tries": 3`)
	b.wanted(9)
	count(t, b, b.failure(1, 0, "a", "froze"))
	count(t, b, b.failure(1, 0, "b", "the same try, given out twice"))
	again := b.wanted(9)
	if len(again) != 1 || again[0].Try != 1 || !slices.Equal(again[0].Not, []string{"a"}) {
		t.Fatalf("after the first failure %+v is wanted", again)
	}
	count(t, b, b.failure(1, 1, "b", "froze"))
	b.wanted(9)
	count(t, b, b.result(0))
	if b.allUnits() {
		t.Fatal("it is given up after two tries")
	}
	count(t, b, b.failure(1, 2, "c", "panicked at last"))
	if got := b.wanted(0); len(got) > 0 {
		t.Errorf("%v is wanted after the last try", got)
	}
	if !b.allUnits() || b.sum.Unknown[1] != "panicked at last" {
		t.Errorf("after the last try it is unknown as %q", b.sum.Unknown[1])
	}
}

// What is not to be tried again is given up at once; a lost answer is asked for again, and no failure.
func TestLastAndLost(t *testing.T) {
	b := booksOf(t, `"episodes": 5, "unit": 5`)
	b.wanted(9)
	l := b.failure(0, 0, "a", "its workers were killed")
	l.Last = true
	count(t, b, l)
	if b.sum.Unknown[0] == "" {
		t.Error("it is not given up")
	}
	count(t, b, engine.Logged{Seq: b.Seq + 1, None: engine.ErrLost, Answer: engine.Answer{Kind: engine.Unit, N: 1}})
	again := b.wanted(9)
	if len(again) != 1 || again[0].N != 1 || again[0].Try != 1 || len(again[0].Not) > 0 {
		t.Errorf("after a lost answer %+v is wanted", again)
	}
}

// An answer that cannot be read is a try that failed: a worker that writes no other is given up, and does not stop the
// campaign. Nor does an answer to what nobody can have asked.
func TestUnreadable(t *testing.T) {
	b := booksOf(t, `"episodes": 5, "unit": 5, "tries": 2`)
	b.wanted(9)
	for try := range 2 {
		l := engine.Logged{Seq: b.Seq + 1, None: engine.ErrUnreadable, Answer: engine.Answer{Kind: engine.Unit, N: 1, Try: try}}
		if err := b.count(l, now); !errors.Is(err, engine.ErrUnreadable) {
			t.Errorf("try %d: %v", try, err)
		}
		b.wanted(9)
	}
	if !strings.Contains(b.sum.Unknown[1], engine.ErrUnreadable.Error()) {
		t.Errorf("after two answers that cannot be read the unit is unknown as %q", b.sum.Unknown[1])
	}
	for _, of := range []engine.Answer{{Kind: engine.Conclude, N: 1 << 40}, {Kind: engine.Preview, N: -1},
		{Kind: engine.Unit, N: 2}, {Kind: "x"}} {
		of.Plan, of.Job, of.Failed = b.plan.Digest(), &campaign.JobReport{}, "why"
		if err := b.count(engine.Logged{Seq: b.Seq + 1, Answer: of}, now); err == nil || b.Seq == 2 {
			t.Errorf("an answer of %s.%d counts", of.Kind, of.N)
		}
	}
}

// Results of another plan, or of a program that the plan does not name, do not count; the unit is asked for again.
func TestOthersResults(t *testing.T) {
	plan, err := planOf(t, `"episodes": 5, "unit": 5`).Record([]campaign.Program{{SHA256: "good"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBooks(plan)
	if err != nil {
		t.Fatal(err)
	}
	b.wanted(9)
	l := b.result(0)
	l.Unit.Program = "bad"
	if err := b.count(l, now); err == nil || !strings.Contains(err.Error(), "program") {
		t.Errorf("a result of another program: %v", err)
	}
	l = b.result(1)
	l.Plan = "other"
	if err := b.count(l, now); err == nil || !strings.Contains(err.Error(), "another plan") {
		t.Errorf("a result of another plan: %v", err)
	}
	if got := numbers(b.wanted(9)); !slices.Equal(got, []int{0, 1}) || len(b.sum.Done) > 0 {
		t.Errorf("then %v are wanted, and %d are done", got, len(b.sum.Done))
	}
	l = b.result(0)
	l.Unit.Program = "good"
	count(t, b, l)
}

// When the time is over nothing new is asked for; what was asked for is done to its end, and is the beginning of the
// plan.
func TestTimeIsOver(t *testing.T) {
	b := booksOf(t, `"duration": "1m", "unit": 5`)
	first := numbers(b.wanted(3))
	count(t, b, b.result(1))
	b.pass(59 * time.Second)
	if b.allUnits() {
		t.Fatal("it ends before its time")
	}
	b.pass(time.Second)
	count(t, b, b.failure(0, 0, "w", "froze"))
	if got := numbers(b.wanted(3)); !slices.Equal(got, []int{0}) {
		t.Errorf("after its time %v are wanted, besides %v", got, first)
	}
	count(t, b, b.result(0))
	count(t, b, b.result(2))
	if !b.allUnits() || b.units() != 3 {
		t.Errorf("it has %d units, all of them done: %v", b.units(), b.allUnits())
	}
}

// When all units are settled each job is concluded once, with the sum of its parts; one that fails is unknown.
func TestConclusions(t *testing.T) {
	b := booksOf(t, `"episodes": 5, "unit": 5, "tries": 1`)
	b.wanted(9)
	count(t, b, b.result(0))
	count(t, b, b.result(1))
	list := b.wanted(9)
	if len(list) != 2 || list[0].Kind != engine.Conclude || list[0].Part.Episodes != 5 || len(b.wanted(9)) > 0 {
		t.Fatalf("then %+v are wanted", list)
	}
	count(t, b, engine.Logged{Seq: 10, Answer: engine.Answer{
		Kind: engine.Conclude, N: 0, Plan: b.plan.Digest(), Job: &campaign.JobReport{Result: sim.Result{Verdict: sim.VerdictOK}}}})
	if b.allJobs() {
		t.Fatal("it ends with one of two jobs concluded")
	}
	froze := engine.Answer{Kind: engine.Conclude, N: 1, Plan: b.plan.Digest(), Failed: "froze"}
	count(t, b, engine.Logged{Seq: 11, Answer: froze})
	r := b.Reports[1]
	if r == nil || r.Verdict != sim.VerdictUnknown || !strings.Contains(r.Reason, "froze") || r.Episodes != 5 {
		t.Errorf("the report of a job that could not be concluded is %+v", r)
	}
	if !b.allJobs() {
		t.Error("it does not end")
	}
}

// A job that breaks a property is told once while the campaign runs, and again when it breaks another one.
func TestPreviews(t *testing.T) {
	b := booksOf(t, `"episodes": 100, "unit": 5`)
	b.wanted(2)
	breaks := func(n int, property string) {
		l := b.result(n)
		l.Unit.Part.Found = []tally.Episode{{Property: property, Times: 1, First: n, Episode: n, Price: []int{1}}}
		count(t, b, l)
	}
	breaks(0, "P")
	list := b.wanted(2)
	if list[0].Kind != engine.Preview || list[0].N != 0 || len(list[0].Part.Found) != 1 {
		t.Fatalf("after a violation %+v are wanted", list)
	}
	count(t, b, engine.Logged{Seq: b.Seq + 1, Answer: engine.Answer{Kind: engine.Preview, N: 0, Plan: b.plan.Digest(),
		Job: &campaign.JobReport{Failures: []campaign.Failure{{Property: "P", Story: "once upon a time"}}}}})
	breaks(2, "P")
	for _, q := range b.wanted(5) {
		if q.Kind == engine.Preview {
			t.Error("it is told twice")
		}
	}
	if got := b.statusOf(0).Found; len(got) != 1 || got[0].Story != "once upon a time" || got[0].Times != 2 {
		t.Errorf("the status has %+v", got)
	}
	breaks(4, "Q")
	if list := b.wanted(9); list[0].Kind != engine.Preview || list[0].Try != 1 {
		t.Errorf("after another violation %+v are wanted", list[0])
	}
}

// The books are the same when they are read again. What is asked for and not answered is asked for again.
func TestBooksLast(t *testing.T) {
	f := Folder(t.TempDir())
	b := booksOf(t, `"episodes": 30, "unit": 5`)
	b.wanted(5)
	count(t, b, b.result(3))
	count(t, b, b.failure(0, 0, "w", "froze"))
	b.pass(time.Second)
	k := newKeeper(f, b.plan)
	if err := k.write(b); err != nil {
		t.Fatal(err)
	}
	before := files(t, k.dir)
	count(t, b, b.result(1)) // of the other job
	b.Reports[0] = &campaign.JobReport{Result: sim.Result{Reason: "made up"}}
	if err := k.write(b); err != nil {
		t.Fatal(err)
	}
	after := files(t, k.dir)
	if len(before) != 3 || len(after) != 4 || len(common(before, after)) != 2 {
		t.Errorf("of one job's change files %v become %v", before, after)
	}
	read, err := newKeeper(f, b.plan).read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text(t, b), text(t, read)); diff != "" {
		t.Errorf("the books as written (-) and read (+):\n%s", diff)
	}
	if got := numbers(read.wanted(9)[:3]); !slices.Equal(got, []int{0, 2, 4}) {
		t.Errorf("first %v are wanted again", got)
	}
}

// text is all that lasts of books.
func text(t *testing.T, b *books) string {
	t.Helper()
	all, err := json.MarshalIndent([]any{b.sum, b.noted, b.Reports}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		names = append(names, f.Name())
	}
	return names
}

func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return !slices.Contains(b, name) })
}

// Whatever part of writing the books was done when the coordinator was killed, the old ones are there.
func TestHalfWritten(t *testing.T) {
	f := Folder(t.TempDir())
	b := booksOf(t, `"episodes": 30, "unit": 5`)
	count(t, b, b.result(0))
	k := newKeeper(f, b.plan)
	if err := k.write(b); err != nil {
		t.Fatal(err)
	}
	want := text(t, b)
	for _, name := range []string{booksFile + ".new", "0123.json", "0123.json.new"} {
		if err := os.WriteFile(filepath.Join(k.dir, name), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	k = newKeeper(f, b.plan)
	read, err := k.read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, text(t, read)); diff != "" {
		t.Errorf("the books as written (-) and read (+):\n%s", diff)
	}
	if err := k.write(read); err != nil {
		t.Fatal(err)
	}
	if left := files(t, k.dir); len(left) != 3 {
		t.Errorf("what was half written stays: %v", left)
	}
}
