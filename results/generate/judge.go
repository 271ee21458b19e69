package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

const judgeFile = "results/judge.md"

// section is a part of the page about the judge. Each can be measured alone; then the others stay as
// they are.
type section struct {
	name    string
	measure func(context.Context, *page) error
}

var judgeSections = []section{
	{"correct", measureCorrect},
	{"corruptions", measureCorruptions},
	{"scale", measureScale},
}

// measureJudge measures the sections that are asked for, or all, and writes the page.
func measureJudge(ctx context.Context, asked []string) error {
	wanted, err := wantedSections(asked)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(judgeFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	texts := splitSections(string(old))
	var problems []error
	for _, s := range wanted {
		p := &page{}
		p.measured("judge " + s.name)
		problem := s.measure(ctx, p)
		if err := fatal(problem, ctx.Err()); err != nil {
			return fmt.Errorf("section %s of %s is not written: %w", s.name, judgeFile, err)
		}
		texts[s.name], problems = string(p.bytes()), append(problems, problem)
	}
	if err := os.WriteFile(judgeFile, []byte(joinSections(texts)), 0o644); err != nil {
		return err
	}
	return errors.Join(problems...)
}

// fatal is what keeps a section from being written: that it could not be measured, or not to its end. One
// that came out unexpectedly is written.
func fatal(problem, interrupted error) error {
	if errors.Is(problem, errUnexpected) {
		problem = nil
	}
	return errors.Join(problem, interrupted)
}

func wantedSections(asked []string) ([]section, error) {
	var names []string
	for _, s := range judgeSections {
		names = append(names, s.name)
	}
	for _, name := range asked {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("the page about the judge has no section %q: there are %s", name, strings.Join(names, ", "))
		}
	}
	wanted := slices.Clone(judgeSections)
	return slices.DeleteFunc(wanted, func(s section) bool { return len(asked) > 0 && !slices.Contains(asked, s.name) }), nil
}

// sectionMark begins a line before a section, with its name.
const sectionMark = "<!-- section "

// splitSections returns the text of each section of a page, by name.
func splitSections(page string) map[string]string {
	texts := map[string]string{}
	parts := strings.Split(page, "\n"+sectionMark)
	for _, part := range parts[1:] {
		if name, text, found := strings.Cut(part, " -->\n"); found {
			texts[name] = strings.TrimSpace(text) + "\n"
		}
	}
	return texts
}

// joinSections makes a page of sections, in their order.
func joinSections(texts map[string]string) string {
	p := &page{}
	p.line("<!-- Made by `go run ./results/generate judge`. Do not edit. -->")
	p.line("")
	p.line("# The judge: what it must accept, and what it must notice")
	for _, s := range judgeSections {
		if text := texts[s.name]; text != "" {
			p.line("\n%s%s -->\n", sectionMark, s.name)
			p.text.WriteString(strings.TrimSpace(text) + "\n")
		}
	}
	return string(p.bytes())
}
