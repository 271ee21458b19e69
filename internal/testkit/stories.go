package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// NoStory says what is wrong with what a test of sim.Check in a file has printed in a folder about a recipe of a title, if
// it is no story; "" if it is one.
func NoStory(dir, file, title, text string) string {
	said := regexp.MustCompile(`(?m)^ +check\.go:\d+: found: [a-z-]+ in episode \d+ of seed \d+: .*\n +this is made small now, .*\n`)
	at := said.FindStringIndex(text)
	if at == nil || at[0] > 0 {
		return "it does not begin with what was found first"
	}
	text = text[at[1]:]
	from, name := "^ +"+regexp.QuoteMeta(file)+`:\d+: `, regexp.QuoteMeta(title)
	where := `\n +page:   (\S+)\n +replay: (go test \S+ -run \S+ -zktorture\.replay=\S+)\n`
	first := regexp.MustCompile(from + name + `.* \([a-z-]+\):?` + where + ` +\n(?s).* \d+ +\d+\.\d{3}s  `).FindStringSubmatch(text)
	text, _, _ = strings.Cut(text, "--- FAIL")
	last := regexp.MustCompile(`(?m)` + from + `[a-z-]+ in ` + name + `the story is above` + where + `\z`).FindStringSubmatch(text)
	switch {
	case first == nil:
		return "it does not begin with what broke, the page, the command that runs it again, and the story"
	case last == nil || !slices.Equal(first[1:], last[1:]):
		return "it does not end with what broke, the page, and the command that runs it again"
	case !regexp.MustCompile(`(?m)` + from + `episode \d+ of 2000 broke it; -zktorture\.seed=\d+`).MatchString(text):
		return "it does not say the episode and the seed"
	case strings.Contains(text, "panic.go"):
		return "it is full of what nobody needs"
	}
	if html, err := os.ReadFile(filepath.Join(dir, first[1])); err != nil ||
		!strings.HasPrefix(string(html), "<!DOCTYPE html>") {
		return fmt.Sprintf("there is no page: %v", err)
	}
	return ""
}
