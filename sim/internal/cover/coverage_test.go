package cover

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/zktorture/zktorture/sim/world"
)

// A way that anybody took is taken, in whatever order it is added up.
func TestCoverageAddsUp(t *testing.T) {
	a, b, c := world.Way{Fault: "loss"}, world.Way{Fault: "expiry", Operation: "acquire", Request: "create"}, world.Way{Fault: "lag"}
	one, other, want := Coverage{a: true, b: false}, Coverage{a: false, c: true}, Coverage{a: true, b: false, c: true}
	for _, parts := range [][]Coverage{{one, other}, {other, one}} {
		sum := Coverage{}
		for _, part := range parts {
			sum.Add(part)
		}
		if !maps.Equal(sum, want) {
			t.Errorf("%v add up to %v, not %v", parts, map[world.Way]bool(sum), map[world.Way]bool(want))
		}
	}
	if got := want.String(); got != "coverage: 2 of 3 combinations of fault, operation and request" {
		t.Error(got)
	}
	if got := (Coverage{}).String(); got != "coverage: no fault could strike" {
		t.Error(got)
	}
}

func TestCoverageAsJSON(t *testing.T) {
	c := Coverage{{Fault: "loss", Operation: "acquire", Request: "create"}: true, {Fault: "lag"}: false}
	text, err := json.Marshal(c)
	if want := `{"lag||":false,"loss|acquire|create":true}`; err != nil || string(text) != want {
		t.Errorf("%s, want %s: %v", text, want, err)
	}
	var read Coverage
	if err := json.Unmarshal(text, &read); err != nil || !maps.Equal(read, c) {
		t.Errorf("%s is read as %v: %v", text, map[world.Way]bool(read), err)
	}
	if json.Unmarshal([]byte(`{"loss|acquire":true}`), &read) == nil {
		t.Error("half a way is one")
	}
}
