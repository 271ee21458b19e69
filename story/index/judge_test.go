package index_test

import (
	"fmt"
	"html"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/story/index"
)

// judging are options with the models of the workloads of those names.
func judging() index.Options {
	return index.Options{Command: "./torture", Model: func(workload, _ string) (index.Model, error) {
		m, err := linearizability.ByName(workload)
		return index.Model{Model: m, Flags: "--model " + workload}, err
	}}
}

// rounds is a history of n rounds with a queue each. In the broken ones the value offered later comes out first.
func rounds(n int, broken ...int) string {
	var out strings.Builder
	at := 0
	add := func(round int, op, arg, result string) {
		at += 10
		fmt.Fprintf(&out,
			`{"client":1,"op":"%s","arg":%s,"result":%s,"outcome":"ok","call":%d,"return":%d,"object":"/z/r%d"}`+"\n",
			op, arg, result, at, at+5, round)
	}
	for round := range n {
		first, second := `"a"`, `"b"`
		add(round, "offer", first, "null")
		add(round, "offer", second, "null")
		for _, b := range broken {
			if b == round {
				first, second = second, first
			}
		}
		add(round, "poll", "null", first)
		add(round, "poll", "null", second)
	}
	return out.String()
}

const (
	onServers = `{"workload":"queue","recipe":"ours","backend":"ensemble","verdict":"ok","violations":[%s]}`
	onObject  = `{"property":"%s","message":"%s","file":"elsewhere/%s"}`
)

// Verdicts on histories, and their entries in the index.
func TestHistoriesAreJudged(t *testing.T) {
	one := fmt.Sprintf(onObject, "order", "b came before a", "queue-ours-order-1.jsonl")
	left := fmt.Sprintf(onObject, "orphan", "a znode is left", "queue-ours-orphan-1.jsonl")
	for name, c := range map[string]struct {
		files            map[string]string
		verdict, reason  string
		story, violation string // the listed property; "" for none
	}{
		"in order": {
			files:   map[string]string{"history.jsonl": rounds(50), "result.json": fmt.Sprintf(onServers, "")},
			verdict: "ok",
		},
		"broken": {
			files:   map[string]string{"history.jsonl": rounds(50, 20, 30), "result.json": fmt.Sprintf(onServers, "")},
			verdict: "violation", reason: "order: ", story: "history.jsonl.html", violation: "order",
		},
		"broken, and the run has a file of the round": {
			files:   map[string]string{"history.jsonl": rounds(50, 20), "result.json": fmt.Sprintf(onServers, one)},
			verdict: "violation", reason: "order: ", story: "history.jsonl.html",
		},
		"the round": {
			files: map[string]string{"queue-ours-order-1.jsonl": rounds(1, 0),
				"result.json": fmt.Sprintf(onServers, one)},
			verdict: "violation", reason: "order: ", story: "queue-ours-order-1.jsonl.html", violation: "order",
		},
		"the round, of which only the run knows what is wrong": {
			files: map[string]string{"queue-ours-orphan-1.jsonl": rounds(1),
				"result.json": fmt.Sprintf(onServers, left)},
			verdict: "ok", reason: "the run found that it breaks orphan", story: "queue-ours-orphan-1.jsonl.html",
			violation: "orphan",
		},
		"the round of a recipe without a model": {
			files: map[string]string{"queue-ours-orphan-1.jsonl": rounds(1),
				"result.json": strings.Replace(fmt.Sprintf(onServers, left), `"queue"`, `"membership"`, 1)},
			verdict: "not judged", reason: `no model is called "membership"`,
			story: "queue-ours-orphan-1.jsonl.html", violation: "orphan",
		},
		"foreign": {
			files:   map[string]string{"history.jsonl": rounds(50, 20)},
			verdict: "not judged", reason: "no result of a run in the same folder says that it wrote this history",
		},
		"foreign, beside a run": {
			files:   map[string]string{"mine.jsonl": rounds(50, 20), "result.json": fmt.Sprintf(onServers, "")},
			verdict: "not judged", reason: "no result of a run in the same folder says that it wrote this history",
		},
		"beside a simulated run": {
			files: map[string]string{"history.jsonl": rounds(50, 20),
				"result.json": strings.Replace(fmt.Sprintf(onServers, ""), "ensemble", "sim", 1)},
			verdict: "not judged", reason: "no result of a run in the same folder says that it wrote this history",
		},
		"beside two runs": {
			files: map[string]string{"history.jsonl": rounds(50, 20), "result.json": fmt.Sprintf(onServers, ""),
				"second.json": fmt.Sprintf(onServers, "")},
			verdict: "not judged", reason: "no result of a run in the same folder says that it wrote this history",
		},
		"cut off": {
			files: map[string]string{"history.jsonl": rounds(50, 20) + `{"client":1`,
				"result.json": fmt.Sprintf(onServers, one)},
			verdict: "not judged", reason: "only a part of it can be read",
		},
		"unsound": {
			files: map[string]string{"history.jsonl": strings.Replace(rounds(50, 20), "offer", "push", 1),
				"result.json": fmt.Sprintf(onServers, "")},
			verdict: "violation", reason: "order: ", story: "history.jsonl.html", violation: "order",
		},
		"unsound where it would be broken": {
			files: map[string]string{"history.jsonl": strings.Replace(rounds(1, 0), "offer", "push", 1),
				"result.json": fmt.Sprintf(onServers, "")},
			verdict: "unknown", reason: "operation 1, client 1 push",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			made := built(t, dir, c.files, judging())
			if len(made.Histories) != 1 {
				t.Fatalf("the histories are %+v", made.Histories)
			}
			h := made.Histories[0]
			if h.Verdict != c.verdict || !strings.HasPrefix(h.Reason, c.reason) ||
				(c.reason == "") != (h.Reason == "") || h.Story != c.story {
				t.Errorf("the verdict is %s: %q, with the story %q", h.Verdict, h.Reason, h.Story)
			}
			listed := ""
			for _, v := range made.Violations {
				listed += v.Property
				if run := strings.Contains(c.files["result.json"],
					v.Message); run != strings.HasPrefix(name, "the round") {
					t.Errorf("the violation is told as %q", v.Message)
				}
			}
			if listed != c.violation {
				t.Errorf("listed are %+v", made.Violations)
			}
			if c.story != "" {
				if page := testkit.File(t, filepath.Join(dir, c.story)); !strings.Contains(page, "<html") {
					t.Error("there is no page of the story")
				}
			}
		})
	}
}

// The story of a history shows the operations that break the model, and the commands to see them again.
func TestStoryOfAHistory(t *testing.T) {
	dir := t.TempDir()
	built(t, dir, map[string]string{"history.jsonl": rounds(50, 20),
		"result.json": fmt.Sprintf(onServers, "")}, judging())
	page := testkit.File(t, filepath.Join(dir, "history.jsonl.html"))
	for _, want := range []string{"order", "/z/r20", "offer(a)", "poll()",
		html.EscapeString("./torture check " + escape.Shell(filepath.Join(dir, "history.jsonl")) + " --model queue")} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	if strings.Contains(page, "/z/r19") {
		t.Error("the page tells of other objects")
	}
}

// When the time for judging is over the remaining verdicts are unknown, which is no pass.
func TestJudgingHasAnEnd(t *testing.T) {
	o := judging()
	o.Judging = time.Nanosecond
	made := built(t, t.TempDir(), map[string]string{"history.jsonl": rounds(50, 20),
		"result.json": fmt.Sprintf(onServers, "")}, o)
	if h := made.Histories[0]; h.Verdict != "unknown" ||
		!strings.Contains(h.Reason, "the time that an index takes for judging, 1ns, was over") {
		t.Errorf("the verdict is %s: %s", h.Verdict, h.Reason)
	}
}
