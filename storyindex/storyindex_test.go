package storyindex_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/bubbles"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/storyindex"
	"github.com/zktorture/zktorture/zoo"
)

// results makes a folder with a file of each kind, and unrelated files.
func results(t *testing.T) (dir string, o storyindex.Options) {
	t.Helper()
	bubbles.Many(t)
	dir = t.TempDir()
	animals, err := zoo.Find([]string{"W1"})
	if err != nil {
		t.Fatal(err)
	}
	w := animals[0].Broken()
	cfg := sim.Config{Strategy: "sweep", Until: animals[0].Property, Episodes: 200, Seed: 1, NoFaultsAtAll: true}
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
		"night/result.json": `{"workload":"lock","recipe":"published/WriteLock","backend":"sim","strategy":"sweep",` +
			`"seed":7,"episodes":200,"operations":900,"verdict":"violation","faults":{"loss":3,"crash":0}}`,
		"several.jsonl": `{"workload":"queue","verdict":"ok","episodes":1}` + "\n" +
			`{"workload":"semaphore","verdict":"ok","episodes":2}` + "\n",
		"zoo-1.json": `{"animals":[{"id":"W1","found":true,"episodes":5,"twin_clean":true},` +
			`{"id":"W2","found":false,"episodes":100,"twin_clean":false}],"found":1,"total":2}`,
		"zoo-2.json": `{"animals":[{"id":"W1","found":true,"episodes":50,"twin_clean":true}],` +
			`"found":1,"total":1}`,
		"history.jsonl":       history(t, 5000),
		"cut.json":            `{"workload":"lock","verdict":`,
		"list.json":           `[1, 2]`,
		"other.json":          `{"name":"nothing of ours"}`,
		"notes.txt":           "not looked at",
		"texts/notes.md":      "some words\n# What came of it <all>\n# and more\n",
		"texts/plain.md":      "no heading",
		"night/course.jsonl":  aCourse(90, "loss", "crash"),
		"killed/course.jsonl": aCourse(200, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j") + `{"t_s":201,"epi`,
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
	return dir, storyindex.Options{Tell: tell}
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
	if err := linearizability.Write(&out, h); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Everything in a folder is in the index, and on its page.
func TestBuild(t *testing.T) {
	dir, o := results(t)
	index, err := storyindex.Build(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(index.Runs) != 4 || len(index.Hunts) != 2 || len(index.ProgressLogs) != 2 || len(index.Histories) != 1 ||
		len(index.Documents) != 2 || len(index.Violations) != 1 {
		t.Errorf("the index is %+v", index)
	}
	if p := index.Problems; len(p) != 2 || p[0].File != "cut.json" || p[1].File != "killed/course.jsonl" {
		t.Errorf("the problems are %+v, not the files that are cut off", p)
	}
	v := index.Violations[0]
	if v.Story != "night/found <1>.json.html" || v.Property != "lost-wakeup" {
		t.Errorf("the violation is %+v", v)
	}
	page := read(t, filepath.Join(dir, storyindex.Name))
	for _, want := range []string{
		"lost-wakeup", `href="night/found%20%3c1%3e.json.html"`, "What came of it &lt;all&gt;", ">texts/plain.md<",
		"it is under way, or was killed", "not judged", "published/WriteLock", "loss\u00a03",
		"W2 was not found, the twin of W2 is accused", "cut.json", "semaphore",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	for _, not := range []string{"unseen", "crash\u00a00", "found <1>", "and more"} {
		if strings.Contains(page, not) {
			t.Errorf("the page says %s", not)
		}
	}
	if told := read(t, filepath.Join(dir, v.Story)); !strings.Contains(told, "lost-wakeup") {
		t.Error("the story's page does not say what broke")
	}
	if _, err := storyindex.Build(t.Context(), dir, o); err != nil ||
		read(t, filepath.Join(dir, storyindex.Name)) != page {
		t.Errorf("the second time the page is another, or there is an error: %v", err)
	}
}

// A story that cannot be told is listed with the reason, and the violation too.
func TestStoryThatCannotBeTold(t *testing.T) {
	dir, o := results(t)
	o.Tell = func(context.Context, *sim.Counterexample, string) (*story.Story, error) {
		return nil, errors.New("the run differs")
	}
	index, err := storyindex.Build(t.Context(), dir, o)
	if err != nil || len(index.Violations) != 1 || index.Violations[0].Story != "" {
		t.Errorf("the violations are %+v: %v", index.Violations, err)
	}
	page := read(t, filepath.Join(dir, storyindex.Name))
	if !strings.Contains(page, "the run differs") || strings.Contains(page, ">the story<") {
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
	if _, err := storyindex.Build(ctx, dir, o); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, although the context has ended", err)
	}
	if _, err := os.Stat(filepath.Join(dir, storyindex.Name)); err == nil {
		t.Error("there is half an index")
	}
}

func TestFolderThatIsNotThere(t *testing.T) {
	if _, err := storyindex.Build(t.Context(), filepath.Join(t.TempDir(), "nowhere"),
		storyindex.Options{}); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
