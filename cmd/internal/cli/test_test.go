package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestGoTestArgs(t *testing.T) {
	a := goTestArgs(strings.Fields("-C dir -race -tags a,b -run X ./one ./two -count=2 --tags=c -mine FILE -tags no -args ./three"))
	if got := a.packages(); !slices.Equal(got, []string{"./one", "./two"}) {
		t.Errorf("packages %q", got)
	}
	if tags, err := a.tags(t.Context()); tags != "c,zktexact" || err != nil {
		t.Errorf("tags %q, %v", tags, err)
	}
	if got, want := strings.Join(a.without("C", "tags"), " "),
		"-race -run X ./one ./two -count=2 -mine FILE -tags no -args ./three"; got != want {
		t.Errorf("without -C and -tags: %q, want %q", got, want)
	}
	if got := a.dir(); !slices.Equal(got, []string{"-C=dir"}) {
		t.Errorf("-C: %q", got)
	}
	t.Setenv("GOFLAGS", "-tags=x,y")
	if tags, err := goTestArgs(nil).tags(t.Context()); tags != "x,y,zktexact" || err != nil {
		t.Errorf("tags of GOFLAGS: %q, %v", tags, err)
	}
}
