package testkit

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// NoStory says what is wrong with what a test of sim.Check in a file has printed, if it is no story; "" if it is
// one.
func NoStory(file, text string) string {
	said := regexp.MustCompile(`(?m)^ +check\.go:\d+: found: [a-z-]+ in episode \d+ of seed \d+: .*\n +this is made small now, .*\n`)
	at := said.FindStringIndex(text)
	if at == nil || at[0] > 0 {
		return "it does not begin with what was found first"
	}
	text, _, _ = strings.Cut(text[at[1]:], "--- FAIL")
	from := "(?ms)^ +" + regexp.QuoteMeta(file) + `:\d+: `
	told := regexp.MustCompile(from + `.* \([a-z-]+\):?\n.*\n +step .*\n +page: (\S+)\n` +
		` +replay: (go test \S+ -run \S+ -zktorture\.replay=\S+)\n`).FindStringSubmatch(text)
	switch {
	case told == nil:
		return "it has not what broke, what happened, the page, and the command that runs it again"
	case !regexp.MustCompile(from + `failed in episode \d+ of 2000 \(again: -zktorture\.seed=\d+`).MatchString(text):
		return "it does not say the episode and the seed"
	case strings.Contains(text, "panic.go"):
		return "it is full of what nobody needs"
	}
	if html, err := os.ReadFile(told[1]); err != nil ||
		!strings.HasPrefix(string(html), "<!DOCTYPE html>") {
		return fmt.Sprintf("there is no page: %v", err)
	}
	return ""
}
