package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/internal/browsertest"
)

// storyBytes is the largest size of a story's page.
const storyBytes = 400_000

// Pages of stories of a lock, a barrier and an election are small, and accessible in both colour schemes.
func TestStoryPages(t *testing.T) {
	b := browsertest.New(t)
	folder := t.TempDir()
	var blocks []block
	for _, animal := range []string{"W1", "B4", "E4"} {
		blocks = append(blocks, block{name: animal + ".html", commands: "torture zoo " + animal + " --episodes 20 --out .\n" +
			"torture explain " + animal + ".json --html " + animal + ".html"})
	}
	if err := write("../../..", folder, blocks); err != nil {
		t.Fatal(err)
	}
	for _, story := range blocks {
		t.Run(story.name, func(t *testing.T) {
			b, page := b.In(t), filepath.Join(folder, story.name)
			small(t, page)
			b.Open(page, 1280, 900, browsertest.Dark)
			accessible(b)
		})
	}
}

func small(t *testing.T, page string) {
	t.Helper()
	info, err := os.Stat(page)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > storyBytes {
		t.Errorf("%s has %d bytes, which is more than %d", page, info.Size(), storyBytes)
	}
}

// The pages of stories in the site are small, too.
func TestStoriesOfTheSiteAreSmall(t *testing.T) {
	for name := range files(t) {
		if strings.HasPrefix(name, "stories/") {
			small(t, filepath.Join(built, name))
		}
	}
}

const document = "A story:\n\n<!-- story -->\n```sh\ntorture run lock\ntorture explain c.json --html a.html\n```\n\n" +
	"<!-- story -->\n\n```\ntorture explain d.json --html=b-1.html\n```\n```sh\ntorture explain e.json --html e.html\n```\n"

func TestBlocksOf(t *testing.T) {
	want := []block{
		{"x.md", "a.html", "torture run lock\ntorture explain c.json --html a.html\n"},
		{"x.md", "b-1.html", "torture explain d.json --html=b-1.html\n"},
	}
	if diff := cmp.Diff(want, blocksOf("x.md", document), cmp.AllowUnexported(block{})); diff != "" {
		t.Errorf("other blocks (-want, +got):\n%s", diff)
	}
}

// Blocks of one name are one if they are equal, and refused if not.
func TestJoin(t *testing.T) {
	one, two := block{"x.md", "a.html", "1\n"}, block{"y.md", "a.html", "2\n"}
	if blocks, err := join([]block{one}, []block{one}); err != nil || len(blocks) != 1 {
		t.Errorf("equal blocks give %v, %v", blocks, err)
	}
	if _, err := join([]block{one}, []block{two}); err == nil || !strings.Contains(err.Error(), "x.md and y.md write different pages") {
		t.Errorf("different blocks of one name give %v", err)
	}
}

// Commands see the repository, and what they print is told if they write no page.
func TestWriteReports(t *testing.T) {
	root, to := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "README.md"), []byte("read me"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (block{"x.md", "a.html", "false\ncat README.md > a.html\n"}).write(root, t.TempDir(), to); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "a.html")); string(text) != "read me" {
		t.Errorf("the page is %q, %v", text, err)
	}
	for commands, want := range map[string]string{
		"cat a > b.html": "a: No such file",
		"echo hello":     "(?s)b.html: .*no such file.*hello",
	} {
		err := block{"x.md", "b.html", commands}.write(root, t.TempDir(), to)
		if err == nil || !regexp.MustCompile(`^x.md: .*`).MatchString(err.Error()) || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("%q gives %v", commands, err)
		}
	}
}
