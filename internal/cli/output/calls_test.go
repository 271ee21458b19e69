package output

import (
	"reflect"
	"testing"

	"github.com/zktorture/zktorture/sim/world"
)

// Who never met is told: acquire was under way with try of another client, and was followed by release.
func TestNeverMet(t *testing.T) {
	c := NewCalls()
	c.Note(0, []*world.Op{
		{Name: "acquire", Client: 1, Call: 1, Return: 5, Outcome: world.OK},
		{Name: "try", Client: 2, Call: 3, Return: 4, Outcome: world.Fail},
		{Name: "release", Client: 1, Call: 6, Return: 0},
		{Name: "try", Client: 2, Call: 7, Return: 8, Outcome: world.OK},
	})
	want := map[string]Called{
		"acquire": {map[string]int{"ok": 1}, 1, []string{"acquire", "release"}, []string{"acquire", "try"}},
		"release": {map[string]int{"running": 1}, 1, []string{"acquire", "release"}, []string{"acquire", "release", "try"}},
		"try":     {map[string]int{"ok": 1, "fail": 1}, 1, []string{"try"}, []string{"acquire", "release"}},
	}
	if got := c.Called(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nis not\n%+v", got, want)
	}
}
