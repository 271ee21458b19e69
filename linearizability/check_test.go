package linearizability

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// operationLine is Operation.String, and " of N" after the client for its process.
var operationLine = regexp.MustCompile(
	`^client (\d+)(?: of (\d+))? (\w+)(?: ([^ →(\[]+))?(?: → (\S+))?` +
		`(?: \((ok|fail|unknown)\))? \[(-?\d+)\.\.(-?\d*)\]$`)

func parseOperation(t testing.TB, line string) Operation {
	t.Helper()
	m := operationLine.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("%q is not an operation", line)
	}
	number := func(s string, otherwise int64) int64 {
		if s == "" {
			return otherwise
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	op := Operation{
		Client: int(number(m[1], 0)), Op: m[3], Arg: parseValue(m[4]), Result: parseValue(m[5]),
		Call: number(m[7], 0), Return: number(m[8], Forever),
	}
	if m[2] != "" {
		op.Process = parseValue(m[2])
	}
	if m[6] != "" {
		if err := op.Outcome.UnmarshalText([]byte(m[6])); err != nil {
			t.Fatal(err)
		}
	}
	return op
}

func parseValue(s string) Value {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case s == "" || s == "null":
		return Null
	case s == "true" || s == "false":
		return Bool(s == "true")
	case err == nil:
		return Int(n)
	}
	return Str(s)
}

// StaleReads is that of package histories, which cannot be imported here.
var StaleReads func(History) History

// transcript is one history of a file in testdata, and the verdict it should have: by Check, and by Check with StaleReads.
type transcript struct {
	title, want, stale string
	history            History
}

func readTranscripts(t testing.TB, model string) []transcript {
	t.Helper()
	text, err := os.ReadFile("testdata/" + model + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []transcript
	var current transcript
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '=':
			current.want, current.stale, _ = strings.Cut(strings.TrimSpace(line[1:]), "; stale reads: ")
			all = append(all, current)
			current = transcript{}
		case current.title == "":
			current.title = line
		default:
			current.history = append(current.history, parseOperation(t, line))
		}
	}
	return all
}

// summary is a verdict as the transcripts have it.
func summary(v Verdict) string {
	switch v.Outcome {
	case Violation:
		return "violation " + v.Property
	case Undetermined:
		return "unknown: " + v.Reason
	}
	return "ok"
}

// TestTranscripts: the verdicts are right.
func TestTranscripts(t *testing.T) {
	for _, m := range []Model{
		Lock(), Queue(), RWLock(), Semaphore(2), Counter(), PriorityQueue(), DoubleBarrier(2),
	} {
		for _, tr := range readTranscripts(t, m.Name) {
			t.Run(m.Name+"/"+tr.title, func(t *testing.T) {
				wantVerdict(t, Check(m, tr.history, 0)[0], tr.want)
				if tr.stale != "" {
					wantVerdict(t, Check(m, StaleReads(tr.history), 0)[0], tr.stale)
				}
				if m.fast != nil { // and by porcupine alone
					m.fast = nil
					wantVerdict(t, Check(m, tr.history, 0)[0], tr.want)
				}
			})
		}
	}
}

// wantVerdict wants a verdict, of one that is unknown a part of the reason.
func wantVerdict(t *testing.T, v Verdict, want string) {
	t.Helper()
	got := summary(v)
	reason, unknown := strings.CutPrefix(want, "unknown: ")
	if got != want && !(unknown && v.Outcome == Undetermined && strings.Contains(got, reason)) {
		t.Errorf("got %q, want %q\n%v", got, want, v)
	}
}

func parseHistory(t testing.TB, text string) History {
	t.Helper()
	var h History
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			h = append(h, parseOperation(t, line))
		}
	}
	return h
}

func TestViolationNamesItsOperations(t *testing.T) {
	for _, tr := range []struct {
		model         Model
		history, want string
	}{
		{Queue(), `
			client 1 offer x [1..2]
			client 1 offer a [3..4]
			client 1 offer b [5..6]
			client 1 offer y [7..8]
			client 2 poll → x [9..10]
			client 2 peek → b [11..12]
			client 2 poll → b [13..14]
			client 2 poll → a [15..16]
			client 3 poll (unknown) [17..]
			client 4 poll → null [30..31]`,
			"violation: order: a value overtook one that was offered before it: client 1 offer a [3..4], " +
				"client 1 offer b [5..6], client 2 poll → b [13..14], client 2 poll → a [15..16]"},
		{Queue(), `
			client 2 poll → null [1..2]
			client 1 offer a [3..4]
			client 2 peek → a [5..6]
			client 2 poll → null [7..8]
			client 2 poll → a [9..10]
			client 2 peek → null [11..12]`,
			"violation: false-empty: the queue was reported empty while it was not: client 1 offer a [3..4], " +
				"client 2 poll → null [7..8], client 2 poll → a [9..10]"},
		{Lock(), `
			client 3 acquire → 1 [1..2]
			client 3 release [3..4]
			client 1 acquire → 5 [5..6]
			client 2 acquire → 6 [7..8]
			client 1 release [9..10]
			client 2 release [11..12]`,
			"violation: exclusion: two clients held the lock at once: client 1 acquire → 5 [5..6], " +
				"client 2 acquire → 6 [7..8], client 1 release [9..10], client 2 release [11..12]"},
	} {
		h := parseHistory(t, tr.history)
		if got := Check(tr.model, h, 0)[0].String(); got != tr.want {
			t.Errorf("got  %s\nwant %s", got, tr.want)
		}
	}
}

func TestObjectsAreJudgedOneByOne(t *testing.T) {
	h := parseHistory(t, `
		client 1 acquire → 1 [1..2]
		client 1 acquire → 1 [3..4]
		client 2 acquire → 2 [5..6]
		client 3 acquire → x [7..8]`)
	h[0].Object, h[1].Object, h[2].Object, h[3].Object = "b", "a", "b", "c"
	verdicts := Check(Lock(), h, 0)
	var got []string
	for _, v := range verdicts {
		got = append(got, v.Object+" "+v.Outcome.String())
	}
	if fmt.Sprint(got) != "[a ok b violation c unknown]" {
		t.Errorf("verdicts are %q", got)
	}
	if want := "operation 4, client 3"; !strings.HasPrefix(verdicts[2].Reason, want) {
		t.Errorf("the reason is %q, not one that starts with %q: operations are counted in the whole history",
			verdicts[2].Reason, want)
	}
}

func TestWorst(t *testing.T) {
	v := func(outcomes ...Status) (verdicts []Verdict) {
		for _, o := range outcomes {
			verdicts = append(verdicts, Verdict{Outcome: o})
		}
		return verdicts
	}
	for _, c := range []struct {
		verdicts []Verdict
		want     Status
	}{
		{v(), Undetermined},
		{v(Ok, Ok), Ok},
		{v(Ok, Undetermined, Ok), Undetermined},
		{v(Undetermined, Violation, Ok), Violation},
		{Check(Queue(), nil, 0), Ok},
		{Check(Model{}, nil, 0), Undetermined},
	} {
		if got := Worst(c.verdicts); got != c.want {
			t.Errorf("Worst(%v) = %v, want %v", c.verdicts, got, c.want)
		}
	}
}

// hopeless returns a history that is illegal, but only after a search that takes for ever: many
// concurrent offers, and as many polls, of which the last two are in the wrong order.
func hopeless(n int) History {
	var h History
	for i := range n {
		h = append(h,
			Operation{Client: i, Op: "offer", Arg: Int(int64(i)), Call: 1, Return: 10},
			Operation{Client: i, Op: "poll", Result: Int(int64(i)), Call: 20, Return: 30})
	}
	return append(h,
		Operation{Client: n, Op: "offer", Arg: Str("a"), Call: 11, Return: 12},
		Operation{Client: n, Op: "offer", Arg: Str("b"), Call: 13, Return: 14},
		Operation{Client: n, Op: "poll", Result: Str("b"), Call: 31, Return: 32},
		Operation{Client: n, Op: "poll", Result: Str("a"), Call: 33, Return: 34})
}

func TestTimeoutIsUndetermined(t *testing.T) {
	unaided := Queue()
	unaided.fast = nil
	v := Check(unaided, hopeless(30), 20*time.Millisecond)[0]
	if v.Outcome != Undetermined || !strings.Contains(v.Reason, "20ms") {
		t.Errorf("the verdict is %v, but time ran out", v)
	}
	v = Check(unaided, hopeless(2), 0)[0]
	if v.Outcome != Violation || v.Property != "order" || len(v.Operations) != 4 {
		t.Errorf("the verdict is %v, not a violation of order with 4 operations", v)
	}
}

func TestLongHistories(t *testing.T) {
	const n = 20000
	var lock, queue History
	for i := range int64(n) {
		lock = append(lock,
			Operation{Client: int(i % 5), Op: "acquire", Result: Int(i), Call: 10 * i, Return: 10*i + 3},
			Operation{Client: int(i % 5), Op: "release", Call: 10*i + 4, Return: 10*i + 12})
		queue = append(queue,
			Operation{Client: 0, Op: "offer", Arg: Int(i), Call: 10 * i, Return: 10*i + 3},
			Operation{Client: 1, Op: "poll", Result: Int(i), Call: 10*i + 1, Return: 10*i + 5})
	}
	for _, v := range []Verdict{Check(Lock(), lock, 0)[0], Check(Queue(), queue, 0)[0]} {
		if v.Outcome != Ok {
			t.Error(v)
		}
	}
	lock[n+1].Call, lock[n+1].Return = lock[n+3].Call+2, math.MaxInt64-1 // a release far too late
	lock[n].Client, lock[n+1].Client = 1000, 1000
	if v := Check(Lock(), lock, 0)[0]; v.Outcome != Violation || v.Property != "exclusion" {
		t.Errorf("the verdict is %v, not a violation of exclusion", v)
	}
	queue[n+1].Result = Int(3)
	if v := Check(Queue(), queue, 0)[0]; v.Outcome != Violation || v.Property != "duplicate" {
		t.Errorf("the verdict is %v, not a violation of duplicate", v)
	}
}

func TestByName(t *testing.T) {
	names := []string{"lock", "queue", "priorityqueue", "counter", "election"}
	for _, name := range names {
		if m, err := ByName(name); err != nil || m.Name != name {
			t.Errorf("ByName(%q) = %q, %v", name, m.Name, err)
		}
	}
	_, err := ByName("stack")
	if err == nil || !strings.HasPrefix(err.Error(), `no model is called "stack"; the models are: `) {
		t.Fatalf("the error is %v", err)
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v: does not name %s", err, name)
		}
	}
}

func TestModelIsNeeded(t *testing.T) {
	if err := (Model{}).Validate(nil); err == nil {
		t.Error("an empty model was accepted")
	}
	var assumption *assumptionError
	err := Queue().Validate(History{{Client: 4, Op: "pop"}})
	if !errors.As(err, &assumption) || assumption.Operation.Client != 4 {
		t.Errorf("the error is %#v", err)
	}
}
