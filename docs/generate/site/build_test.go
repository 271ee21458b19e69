package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The build fails, and says where, if a link leads to nothing, a story has no page, or a page has no place.
func TestBuildRefuses(t *testing.T) {
	for what, c := range map[string]struct{ page, text, want string }{
		"page":    {"index.md", "[x](nothing.md)", "1 dead link(s) found"},
		"file":    {"index.md", "[x](../nothing)", "docs/index.md links to ../nothing, which is not there"},
		"heading": {"index.md", "[x](../README.md#nothing)", "docs/index.md links to ../README.md#nothing, and that file has no such heading"},
		"story":   {"index.md", "<!-- story -->\n```sh\ntorture run lock\n```", "docs/index.md: a block after <!-- story --> has no --html NAME.html"},
		"group":   {"other.md", "", "docs/other.md is in no group: name it in docs/.vitepress/pages.mjs"},
		"title":   {"tutorial/x.md", "<!--\n# Title\n-->", "docs/tutorial/x.md has no heading of the first level"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			root := emptySite(t)
			heading := "# Heading\n\n"
			if what == "title" {
				heading = ""
			}
			put(t, filepath.Join(root, "docs", c.page), heading+c.text)
			if out, err := buildSite(root); err == nil || !strings.Contains(out, c.want) {
				t.Errorf("the build ends with %v and does not say %q:\n%s", err, c.want, out)
			}
		})
	}
}

// What is Vue's syntax, and no Markdown, is text; a comment is nothing; links lead to GitHub, or below the page's folder.
func TestBuild(t *testing.T) {
	root := emptySite(t)
	put(t, filepath.Join(root, "docs/howto/x.md"), "---\norder: 2\n---\n# Title `of` x\n\n<!-- file: y -->\n\"{{ x }}\" see x.md {.c}, "+
		"[y](../index.md#some-title) [z](../../README.md#a--b) <!-- hidden -->\n")
	put(t, filepath.Join(root, "docs/howto/a.md"), "# After it\n")
	put(t, filepath.Join(root, "docs/howto/b/index.md"), "---\norder: 3\n---\n# Below\n")
	put(t, filepath.Join(root, "docs/howto/b/c.md"), "# In it\n")
	put(t, filepath.Join(root, "docs/howto/x-y.md"), "# Under x\n")
	if out, err := buildSite(root); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(root, "out/howto/x.html"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, want := range []string{
		`<p>&quot;{{ x }}&quot; see x.md {.c}, `,
		`href="./../index.html#some-title"`,
		`href="https://github.com/zktorture/zktorture/blob/main/README.md#a--b"`,
		`<summary>Title of x</summary><ul><!--[--><li><a href="x.html" aria-current="page">Title of x</a></li><li><a href="x-y.html">Under x</a></li>`,
		`<summary>Below</summary><ul><!--[--><li><a href="b/index.html">Below</a></li><li><a href="b/c.html">In it</a></li>`,
		`</details></li><li><a href="a.html">After it</a></li><!--]-->`,
		`<meta name="description" content="&quot;{{ x }}&quot; see x.md {.c}, y z">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s:\n%s", want, page)
		}
	}
	if strings.Contains(page, "hidden") || strings.Contains(page, "file: y") {
		t.Errorf("the page shows a comment:\n%s", page)
	}
}

// emptySite is a folder with a home page, and all that builds a site.
func emptySite(t *testing.T) (root string) {
	t.Helper()
	modules, err := filepath.Abs("../../node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "vitepress")); err != nil {
		t.Skip("needs VitePress, which make site installs: ", err)
	}
	root = t.TempDir()
	docs := filepath.Join(root, "docs")
	for _, folder := range []string{".vitepress/theme", "public"} {
		copyFolder(t, filepath.Join(docs, folder), filepath.Join("../..", folder))
	}
	copyFolder(t, filepath.Join(docs, ".vitepress"), "../../.vitepress")
	if err := os.Symlink(modules, filepath.Join(docs, "node_modules")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "README.md"), "# Read me\n\n## A & B\n")
	put(t, filepath.Join(docs, "index.md"), "# Home\n\n## Some title\n")
	return root
}

// copyFolder copies the files of a folder, without those of folders in it.
func copyFolder(t *testing.T, to, from string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(from, "*.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", from, err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := copyFile(filepath.Join(to, filepath.Base(file)), file); err != nil {
			t.Fatal(err)
		}
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func buildSite(root string) (output string, err error) {
	build := exec.Command("node", "node_modules/vitepress/bin/vitepress.js", "build", "--outDir", "../out")
	build.Dir = filepath.Join(root, "docs")
	out, err := build.CombinedOutput()
	return string(out), err
}
