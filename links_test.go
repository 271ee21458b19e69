package zktorture_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

var (
	code    = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```$|<!--.*?-->|`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	link    = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]*)\)`)
)

// The links of README.md within this repository lead somewhere.
func TestLinksOfTheReadme(t *testing.T) {
	links := link.FindAllStringSubmatch(code.ReplaceAllString(testkit.File(t, "README.md"), ""), -1)
	for _, m := range links {
		if err := resolve(t, m[1]); err != nil {
			t.Error(err)
		}
	}
	if len(links) == 0 {
		t.Error("README.md has no links")
	}
}

func resolve(t *testing.T, target string) error {
	file, fragment, _ := strings.Cut(target, "#")
	if strings.Contains(file, "://") {
		return nil
	}
	if file == "" {
		file = "README.md"
	}
	if _, err := os.Stat(file); err != nil || fragment == "" || path.Ext(file) != ".md" {
		return err
	}
	for _, m := range heading.FindAllStringSubmatch(testkit.File(t, file), -1) {
		if anchor(m[1]) == fragment {
			return nil
		}
	}
	return fmt.Errorf("%s has no heading for #%s", file, fragment)
}

// anchor is the fragment by which GitHub links to a heading.
func anchor(heading string) string {
	kept := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(kept, " ", "-")
}
