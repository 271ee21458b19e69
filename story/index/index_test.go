package index_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/internal/testkit/broken"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/index"
	"github.com/zktorture/zktorture/workload"
)

// results makes a folder with a file of each kind, and unrelated files.
func results(t *testing.T) (dir string, o index.Options) {
	t.Helper()
	testkit.ManyWorlds(t)
	dir = t.TempDir()
	w := workload.Lock(broken.NewLock, workload.Named("broken"), workload.Existing())
	cfg := sim.Config{Strategy: "patterns", Until: "lost-wakeup", Episodes: 200, Seed: 1, NoFaultsAtAll: true}
	r, err := sim.Run(t.Context(), w, cfg)
	if err != nil || len(r.Violations) == 0 {
		t.Fatalf("nothing broke: %v", err)
	}
	c, err := cfg.Counterexample(r, r.Violations[len(r.Violations)-1])
	if err != nil {
		t.Fatal(err)
	}
	var example bytes.Buffer
	if err := c.Write(&example); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"night/found <1>.json": example.String(),
		"night/result.json": `{"workload":"lock","recipe":"published/WriteLock","backend":"sim","strategy":"patterns",` +
			`"seed":7,"episodes":200,"operations":900,"verdict":"violation","faults":{"loss":3,"crash":0}}`,
		"several.jsonl": `{"workload":"queue","verdict":"ok","episodes":1}` + "\n" +
			`{"workload":"semaphore","verdict":"ok","episodes":2}` + "\n",
		"history.jsonl":       history(t, 5000),
		"cut.json":            `{"workload":"lock","verdict":`,
		"list.json":           `[1, 2]`,
		"other.json":          `{"name":"nothing of ours"}`,
		"notes.txt":           "not looked at",
		"killed/run.json":     begunOnServers,
		".hidden/result.json": `{"workload":"unseen","verdict":"ok"}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tell := func(ctx context.Context, c *sim.Counterexample, _ string) (*story.Story, error) {
		return story.Tell(ctx, w, c)
	}
	return dir, index.Options{Tell: tell}
}

// history has an operation each millisecond; every tenth is of unknown outcome.
func history(t *testing.T, n int) string {
	t.Helper()
	var h linearizability.History
	for i := range n {
		o := linearizability.Operation{Client: i % 8, Op: "offer", Arg: linearizability.Str(strconv.Itoa(i)),
			Outcome: linearizability.OK, Call: int64(i) * 1e6, Return: int64(i)*1e6 + 500}
		if i%10 == 0 {
			o.Outcome, o.Return = linearizability.Unknown, linearizability.Forever
		}
		h = append(h, o)
	}
	var out strings.Builder
	if err := histories.Write(&out, h); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Everything in a folder is in the index, and on its page.
func TestBuild(t *testing.T) {
	dir, o := results(t)
	made, err := index.Build(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Runs) != 4 || len(made.Histories) != 1 || len(made.Violations) != 1 {
		t.Errorf("the index is %+v", made)
	}
	if p := made.Problems; len(p) != 1 || p[0].File != "cut.json" {
		t.Errorf("the problems are %+v, not the file that is cut off", p)
	}
	v := made.Violations[0]
	if v.Story != "night/found <1>.json.html" || v.Property != "lost-wakeup" {
		t.Errorf("the violation is %+v", v)
	}
	page := testkit.File(t, filepath.Join(dir, index.Name))
	for _, want := range []string{
		`<h1><strong class="verdict violation">violation</strong>: lock (broken) breaks lost-wakeup</h1>`,
		"queue (ours) on ensemble: unknown; lock (published/WriteLock) on sim: violation", `href="night/found%20%3c1%3e.json.html"`,
		"it is under way, or was killed", "not judged", "published/WriteLock", "loss\u00a03",
		"cut.json", "semaphore",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	for _, not := range []string{"unseen", "crash\u00a00", "found <1>"} {
		if strings.Contains(page, not) {
			t.Errorf("the page says %s", not)
		}
	}
	if told := testkit.File(t, filepath.Join(dir, v.Story)); !strings.Contains(told, "lost-wakeup") {
		t.Error("the story's page does not say what broke")
	}
	if _, err := index.Build(t.Context(), dir, o); err != nil ||
		testkit.File(t, filepath.Join(dir, index.Name)) != page {
		t.Errorf("the second time the page is another, or there is an error: %v", err)
	}
}

// The page is headed by the likely root, as the run beside it says; without a run by what took the fewest steps.
func TestLikelyRootFirst(t *testing.T) {
	dir, o := results(t)
	root := testkit.File(t, filepath.Join(dir, "night/found <1>.json"))
	o.Tell = func(context.Context, *sim.Counterexample, string) (*story.Story, error) { return nil, errors.New("no") }
	files := map[string]string{"a.json": strings.ReplaceAll(root, `"lost-wakeup"`, `"left-behind"`), "b.json": root}
	first := func(files map[string]string) string { return built(t, t.TempDir(), files, o).Violations[0].File }
	for _, order := range [][2]string{{"a.json", "b.json"}, {"b.json", "a.json"}} {
		files["result.json"] = fmt.Sprintf(`{"workload":"lock","verdict":"violation","violations":[{"file":%q},{"file":%q}]}`, order[0], order[1])
		if got := first(files); got != order[0] {
			t.Errorf("of %q, the likely root first, %s is first", order, got)
		}
	}
	delete(files, "result.json")
	c, err := sim.ReadCounterexample(strings.NewReader(root))
	if err != nil {
		t.Fatal(err)
	}
	var longer bytes.Buffer
	c.Trace = append(c.Trace, c.Trace...)
	if err := c.Write(&longer); err != nil {
		t.Fatal(err)
	}
	if files["a.json"] = longer.String(); first(files) != "b.json" {
		t.Error("what took more steps is first")
	}
}

// A story that cannot be told is listed with the reason, and the violation too.
func TestStoryThatCannotBeTold(t *testing.T) {
	dir, o := results(t)
	o.Tell = func(context.Context, *sim.Counterexample, string) (*story.Story, error) {
		return nil, errors.New("the run differs")
	}
	made, err := index.Build(t.Context(), dir, o)
	if err != nil || len(made.Violations) != 1 || made.Violations[0].Story != "" {
		t.Errorf("the violations are %+v: %v", made.Violations, err)
	}
	page := testkit.File(t, filepath.Join(dir, index.Name))
	if !strings.Contains(page, "the run differs") || strings.Contains(page, ">the story of ") {
		t.Error("the page does not say why there is no story, or links to one")
	}
}

func TestBuildStopsWithItsContext(t *testing.T) {
	dir, o := results(t)
	if err := os.Rename(filepath.Join(dir, "night"), filepath.Join(dir, "zz-last")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "zz-last/result.json")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Tell = func(ctx context.Context, _ *sim.Counterexample, _ string) (*story.Story, error) {
		cancel()
		return nil, ctx.Err()
	}
	if _, err := index.Build(ctx, dir, o); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, although the context has ended", err)
	}
	if _, err := os.Stat(filepath.Join(dir, index.Name)); err == nil {
		t.Error("there is half an index")
	}
}

func TestFolderThatIsNotThere(t *testing.T) {
	if _, err := index.Build(t.Context(), filepath.Join(t.TempDir(), "nowhere"),
		index.Options{}); err == nil {
		t.Error("no error for a folder that is not there")
	}
}
