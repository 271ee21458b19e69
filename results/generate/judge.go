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

// judgeSections are the sections of the page about the judge. Each can be measured alone; the others then stay
// unchanged.
var judgeSections = []report{
	{"correct", measureCorrect},
	{"corruptions", measureCorruptions},
	{"scale", measureScale},
	{"files", measureFiles},
}

// section is a section of the page.
type section struct{ Name, Text string }

// measureJudge measures the given sections, or all, and writes the page.
func measureJudge(ctx context.Context, asked []string) error {
	known := reportNames(judgeSections)
	for _, name := range asked {
		if !slices.Contains(known, name) {
			return fmt.Errorf("the page about the judge has no section %q: there are %s", name,
				strings.Join(known, ", "))
		}
	}
	old, err := os.ReadFile(judgeFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	texts := splitSections(string(old))
	var problems []error
	for _, s := range judgeSections {
		if len(asked) > 0 && !slices.Contains(asked, s.name) {
			continue
		}
		data, problem := s.measure(ctx)
		if err := fatal(problem, ctx.Err()); err != nil {
			return fmt.Errorf("section %s of %s is not written: %w", s.name, judgeFile, err)
		}
		text, err := fill("judge-"+s.name, data)
		texts[s.name], problems = measured("judge "+s.name)+text, append(problems, problem, err)
	}
	page, err := joinSections(texts)
	if err != nil {
		return err
	}
	return errors.Join(append(problems, os.WriteFile(judgeFile, []byte(page), 0o644))...)
}

// sectionMark begins the line before a section, which has its name.
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
func joinSections(texts map[string]string) (string, error) {
	var sections []section
	for _, s := range judgeSections {
		sections = append(sections, section{s.name, strings.TrimSpace(texts[s.name])})
	}
	return fill("judge", sections)
}
