package index_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

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

// The verdicts on histories are those of their runs.
func TestVerdictsOfHistories(t *testing.T) {
	one := fmt.Sprintf(onObject, "order", "b came before a", "queue-ours-order-1.jsonl")
	left := fmt.Sprintf(onObject, "orphan", "a znode is left", "queue-ours-orphan-1.jsonl")
	const foreign = "no result of a run in the same folder says that it wrote this history"
	for name, c := range map[string]struct {
		file, history, result string
		verdict, reason       string
		story                 string // what its page says; "" for none
	}{
		"whole": {file: "history.jsonl", history: rounds(5), result: fmt.Sprintf(onServers, ""), verdict: "ok"},
		"the round": {file: "queue-ours-order-1.jsonl", history: rounds(1, 0), result: fmt.Sprintf(onServers, one),
			verdict: "violation", reason: "order: b came before a", story: "--model queue"},
		"the round, of which only the run knows what is wrong": {file: "queue-ours-orphan-1.jsonl", history: rounds(1),
			result: fmt.Sprintf(onServers, left), verdict: "violation", reason: "orphan: a znode is left", story: "a znode is left"},
		"the round of a recipe without a model": {file: "queue-ours-orphan-1.jsonl", history: rounds(1),
			result:  strings.Replace(fmt.Sprintf(onServers, left), `"queue"`, `"membership"`, 1),
			verdict: "violation", reason: "orphan: a znode is left", story: "a znode is left"},
		"foreign": {file: "mine.jsonl", history: rounds(5), result: fmt.Sprintf(onServers, ""),
			verdict: "not judged", reason: foreign},
		"beside a simulated run": {file: "history.jsonl", history: rounds(5),
			result:  strings.Replace(fmt.Sprintf(onServers, ""), "ensemble", "sim", 1),
			verdict: "not judged", reason: foreign},
		"of a killed run": {file: "history.jsonl", history: rounds(5) + late[:9], verdict: "unknown",
			reason: "its run has no result: ./torture check "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{c.file: c.history, "result.json": c.result}
			if c.result == "" {
				files = map[string]string{c.file: c.history, "run.json": begunOnServers}
			}
			made := built(t, dir, files, judging())
			if len(made.Histories) != 1 || len(made.Problems) > 0 {
				t.Fatalf("the histories are %+v, the problems %v", made.Histories, made.Problems)
			}
			h := made.Histories[0]
			if h.Verdict != c.verdict || !strings.HasPrefix(h.Reason, c.reason) || (c.reason == "") != (h.Reason == "") {
				t.Errorf("the verdict is %s: %q", h.Verdict, h.Reason)
			}
			if (h.Story != "") != (c.story != "") || len(made.Violations) > 0 != (c.story != "") {
				t.Errorf("the story is %q, the violations are %+v", h.Story, made.Violations)
			}
			if c.story != "" && !strings.Contains(testkit.File(t, filepath.Join(dir, h.Story)), c.story) {
				t.Errorf("the page does not say %s", c.story)
			}
		})
	}
}
