// Command site writes the story pages that the documentation shows. Run it in the root of the repository:
//
//	go run ./docs/generate/site out/site/stories
//
// In docs/ a fenced block of shell commands after a line <!-- story --> finds a failure and writes its page:
//
//	<!-- story -->
//	```sh
//	torture run lock --recipe published/WriteLock --faults none --seed 1
//	torture explain counterexamples/*-lost-wakeup-*.json --html lost-wakeup.html
//	```
//
// The blocks run, each in a folder of its own in which the files of the repository are, too. Their pages go to the folder
// that is named. Pages of the same name must be of the same commands.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./docs/generate/site FOLDER, in the root of the repository")
		os.Exit(2)
	}
	if err := writeStories(".", os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "site: %v\n", err)
		os.Exit(1)
	}
}

// block is the commands that write a page.
type block struct {
	document string
	name     string // of the page
	commands string
}

// writeStories writes the pages of all blocks in the docs of a repository.
func writeStories(root, to string) error {
	blocks, err := inDocs(root)
	if err != nil {
		return err
	}
	return write(root, to, blocks)
}

func write(root, to string, blocks []block) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "stories")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := build(root, temporary); err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, b := range blocks {
		group.Go(func() error { return b.write(root, temporary, to) })
	}
	return group.Wait()
}

// build puts the command torture into a folder.
func build(root, folder string) error {
	command := exec.Command("go", "build", "-o", folder+"/", "./cmd/torture")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/torture: %w\n%s", err, out)
	}
	return nil
}

// inDocs returns the blocks of all pages. Equal blocks are one.
func inDocs(root string) (blocks []block, err error) {
	documents, err := markdown(root)
	if err != nil {
		return nil, err
	}
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			return nil, err
		}
		if blocks, err = join(blocks, blocksOf(document, string(text))); err != nil {
			return nil, err
		}
	}
	return blocks, nil
}

// markdown returns the documents of the site.
func markdown(root string) (documents []string, err error) {
	docs := filepath.Join(root, "docs")
	err = filepath.WalkDir(docs, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name == "node_modules" || name == ".vitepress") {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			documents = append(documents, path)
		}
		return nil
	})
	return documents, err
}

// join adds blocks that are not there yet.
func join(blocks, more []block) ([]block, error) {
	for _, b := range more {
		same := func(other block) bool { return other.name == b.name }
		i := slices.IndexFunc(blocks, same)
		if i < 0 {
			blocks = append(blocks, b)
		} else if blocks[i].commands != b.commands {
			return nil, fmt.Errorf("%s and %s write different pages of the name %s", blocks[i].document, b.document, b.name)
		}
	}
	return blocks, nil
}

var (
	marked = regexp.MustCompile("(?m)^<!-- story -->\n+```[a-z]*\n((?:.*\n)*?)```$")
	page   = regexp.MustCompile(`--html[= ]([\w.-]+\.html)\b`) // as in docs/.vitepress/markdown.mjs, which refuses blocks without one
)

func blocksOf(document, text string) (blocks []block) {
	for _, m := range marked.FindAllStringSubmatch(text, -1) {
		if name := page.FindStringSubmatch(m[1]); name != nil {
			blocks = append(blocks, block{document, name[1], m[1]})
		}
	}
	return blocks
}

// write runs the commands and moves their page to a folder. What commands other than the last one say by their status
// does not matter, as torture run fails when it has found something.
func (b block) write(root, programs, to string) error {
	folder, err := os.MkdirTemp(programs, "story")
	if err != nil {
		return err
	}
	if err := linkRepository(root, folder); err != nil {
		return err
	}
	shell := exec.Command("sh", "-c", b.commands)
	shell.Dir = folder
	shell.Env = append(os.Environ(), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	if err == nil {
		err = copyFile(filepath.Join(to, b.name), filepath.Join(folder, b.name))
	}
	if err != nil {
		return fmt.Errorf("%s: the commands that write %s: %w\n%s%s", b.document, b.name, err, b.commands, out)
	}
	return nil
}

// linkRepository makes links to what is in the repository, but for what runs leave there.
func linkRepository(root, folder string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(root)
	for _, entry := range entries {
		if name := entry.Name(); name != "counterexamples" && name != "out" {
			err = errors.Join(err, os.Symlink(filepath.Join(root, name), filepath.Join(folder, name)))
		}
	}
	return err
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}
