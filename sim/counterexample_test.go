package sim_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

func anyExample(t *testing.T) *sim.Counterexample {
	t.Helper()
	c := counterexamples(t)["lock order"]
	if c == nil {
		t.Fatal("no counterexample")
	}
	return c
}

func written(t *testing.T, c *sim.Counterexample) string {
	t.Helper()
	var file bytes.Buffer
	if err := c.Write(&file); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// What is written is read again, and written again it is the same file.
func TestCounterexampleFilesRoundTrip(t *testing.T) {
	for name, c := range counterexamples(t) {
		text := written(t, c)
		again, err := sim.ReadCounterexample(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c, again, cmp.Transformer("canonical", canonical)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if text != written(t, again) {
			t.Errorf("%s: written twice it differs", name)
		}
		if !strings.Contains(text, "\n \"choices\": [") ||
			len(strings.Split(text, "\n")) > 60+len(c.Trace)+len(c.History)/8 {
			t.Errorf("%s: the list of choices is spread over many lines", name)
		}
	}
}

// canonical is JSON without white space, which is all that a file may change.
func canonical(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return string(raw)
	}
	return out.String()
}

// A file that is cut off anywhere is refused.
func TestTruncatedCounterexample(t *testing.T) {
	text := strings.TrimRight(written(t, anyExample(t)), "\n")
	for end := 0; end < len(text); end += 1 + len(text)/200 {
		if c, err := sim.ReadCounterexample(strings.NewReader(text[:end])); err == nil {
			t.Fatalf("the first %d of %d bytes were read as %+v", end, len(text), c)
		} else if !strings.Contains(err.Error(), "cut off") {
			t.Fatalf("%d bytes: %v: does not say that it may be cut off", end, err)
		}
	}
}

// Foreign and incomplete files are refused in one clear line.
func TestForeignCounterexamples(t *testing.T) {
	edit := func(change func(c *sim.Counterexample)) string {
		c := *anyExample(t)
		change(&c)
		return written(t, &c)
	}
	cases := map[string][2]string{
		"text":   {"hello", "not a counterexample"},
		"a list": {"[1,2,3]", "not a counterexample"},
		"history": {`{"client":3,"op":"poll","arg":null,"result":"v17","outcome":"ok","call":1041,"return":1077}`,
			"its format is"},
		"two values": {written(t, anyExample(t)) + "{}", "not a counterexample"},
		"version": {edit(func(c *sim.Counterexample) { c.Format = "zktorture counterexample 2" }),
			`wanted is "zktorture counterexample 1"`},
		"hash":     {edit(func(c *sim.Counterexample) { c.Hash = "" }), "incomplete"},
		"property": {edit(func(c *sim.Counterexample) { c.Property = "" }), "incomplete"},
		"trace":    {edit(func(c *sim.Counterexample) { c.Trace = nil }), "incomplete"},
		"huge":     {strings.Repeat(" ", 65<<20), "larger than 64 MB"},
	}
	for name, c := range cases {
		_, err := sim.ReadCounterexample(strings.NewReader(c[0]))
		if err == nil || !strings.Contains(err.Error(), c[1]) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", name, err, c[1])
		}
	}
}

// A file whose run is impossible is refused, not run as something else.
func TestImpossibleCounterexamples(t *testing.T) {
	for name, change := range map[string]func(c *sim.Counterexample){
		"unknown fault": func(c *sim.Counterexample) { c.Faults = "earthquake" },
		"clients":       func(c *sim.Counterexample) { c.Clients = world.ClientsMax + 1 },
		"no clients":    func(c *sim.Counterexample) { c.Clients = -1 },
		"operations":    func(c *sim.Counterexample) { c.Ops = world.OpsMax + 1 },
	} {
		c := *anyExample(t)
		change(&c)
		if _, err := replayOf(&c); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
}

// Choices that were made for another run are taken as far as they go; that is no reason to panic.
func TestAnyChoicesReplay(t *testing.T) {
	w := find(t, "queue", "")
	for _, choices := range []world.Choices{nil, {-5, math.MaxInt, -1},
		{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 99, 99, 99, 99, 99, 99}} {
		if one := sim.RunOne(w, sim.Config{}, choices.Replay()); len(one.Violations) > 0 {
			t.Errorf("%v: %v", choices, one.Violations)
		}
	}
}
