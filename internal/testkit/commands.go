package testkit

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Command is a command line that a page shows.
type Command struct {
	Where string   // the page
	Line  string   // as it is shown
	Args  []string // without the program
	Prose bool     // it is within the text, which may leave arguments out
}

var (
	shellBlock = regexp.MustCompile("(?m)^ *```sh\n((?:.*\n)*?) *```$")
	inline     = regexp.MustCompile("`([^`]+)`")
	joined     = regexp.MustCompile(`\\\n\s*`)
	fenced     = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	spaces     = regexp.MustCompile(`\s+`)
	// A command ends at what a shell does with its output, or at the next command.
	commandEnd = regexp.MustCompile(`( [|&>]|;|$)`)
	word       = regexp.MustCompile(`'([^']*)'|"([^"]*)"|([^'"\s]+)`)
)

// Commands returns the command lines of a program that the pages show in shell blocks, and in their text between
// backquotes. Those that leave something out with …, or have variables of a shell, are not among them.
func Commands(root, program string) (all []Command, err error) {
	names, err := Documents(root)
	if err != nil {
		return nil, err
	}
	begin := regexp.MustCompile(`(?:^|[\s/])` + regexp.QuoteMeta(program) + ` `)
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		for _, c := range shown(string(text)) {
			line, _, _ := strings.Cut(c.Line, " #")
			at := begin.FindStringIndex(line)
			if at == nil || strings.ContainsAny(line, "…${") {
				continue
			}
			rest := line[at[1]:]
			rest = rest[:commandEnd.FindStringIndex(rest)[0]]
			c.Where = name
			for _, w := range word.FindAllStringSubmatch(rest, -1) {
				c.Args = append(c.Args, w[1]+w[2]+w[3])
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// shown returns the lines of shell blocks, and the code within the text.
func shown(page string) (lines []Command) {
	for _, block := range shellBlock.FindAllStringSubmatch(page, -1) {
		for line := range strings.SplitSeq(joined.ReplaceAllString(block[1], " "), "\n") {
			lines = append(lines, Command{Line: line})
		}
	}
	for _, code := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		lines = append(lines, Command{Line: spaces.ReplaceAllString(code[1], " "), Prose: true})
	}
	return lines
}
