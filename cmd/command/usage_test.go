package command

import (
	"reflect"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
)

// The ranges of all flags are ranges of whole numbers or durations.
func TestRanges(t *testing.T) {
	parser, err := newParser(kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	ranges := 0
	for _, node := range parser.Model.Leaves(false) {
		for _, f := range node.Flags {
			if limits := f.Tag.Get("range"); limits != "" {
				ranges++
				if !reflect.Indirect(f.Target).CanInt() {
					t.Errorf("%s --%s is no whole number", node.Name, f.Name)
				}
				console.Outside(limits, 1) // panics
			}
		}
	}
	if ranges < 10 {
		t.Errorf("only %d were looked at", ranges)
	}
}

func TestOutside(t *testing.T) {
	for _, c := range []struct {
		limits string
		n      int64
		want   string
	}{
		{"1..16", 1, ""}, {"1..16", 16, ""}, {"1..16", 17, "1 to 16 are possible"}, {"1..16", 0, "1 to 16 are possible"},
		{"1..", 1 << 40, ""}, {"1..", 0, "at least 1 is needed"}, {">0", 1, ""}, {">0", 0, "more than 0 is needed"},
		{"1,3,5", 3, ""}, {"1,3,5", 2, "1, 3, 5 are possible"}, {"0s..", 0, ""}, {"1s..", 5, "at least 1s is needed"},
	} {
		if got := console.Outside(c.limits, c.n); got != c.want {
			t.Errorf("%d of %s: %q, want %q", c.n, c.limits, got, c.want)
		}
	}
}
