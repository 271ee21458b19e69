package perfetto_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/torture/perfetto"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/zoo"
)

// event is an event as a reader of the format sees it.
type event struct {
	Ph, Name, Bp, S string
	Ts              float64
	Dur             *float64
	Pid, Tid, ID    int
	Args            map[string]any
}

type track struct{ pid, tid int }

// read reads a trace back and checks what the format demands: processes and tracks have names, slices of one track do not
// overlap, and both ends of a flow are within slices, in order.
func read(t *testing.T, write func(io.Writer) error) (slicesOf map[string][]event, instants []event, flows int) {
	t.Helper()
	var data bytes.Buffer
	if err := write(&data); err != nil {
		t.Fatal(err)
	}
	var of struct {
		TraceEvents     []event
		DisplayTimeUnit string
	}
	d := json.NewDecoder(&data)
	if err := d.Decode(&of); err != nil || of.DisplayTimeUnit != "ms" {
		t.Fatalf("unit %q, %v", of.DisplayTimeUnit, err)
	}
	names, lasting, ends := map[track]string{}, map[track][]event{}, map[int][]event{}
	for _, e := range of.TraceEvents {
		at := track{e.Pid, e.Tid}
		switch e.Ph {
		case "M":
			names[at] = e.Args["name"].(string)
		case "X":
			if e.Dur == nil || *e.Dur < 0 || e.Ts < 0 || e.Name == "" {
				t.Errorf("a slice is %+v", e)
			}
			lasting[at] = append(lasting[at], e)
		case "s", "t", "f":
			ends[e.ID] = append(ends[e.ID], e)
		case "i":
			instants = append(instants, e)
		default:
			t.Errorf("an event has phase %q", e.Ph)
		}
	}
	slicesOf = map[string][]event{}
	for at, all := range lasting {
		if names[at] == "" || names[track{at.pid, 0}] == "" {
			t.Errorf("track %v has no name, or its process", at)
		}
		slices.SortFunc(all, func(a, b event) int { return int(a.Ts*100 - b.Ts*100) })
		for i := 1; i < len(all); i++ {
			if all[i].Ts < all[i-1].Ts+*all[i-1].Dur-0.001 {
				t.Errorf("on %s %s at %v begins within %s at %v", names[at], all[i].Name, all[i].Ts, all[i-1].Name, all[i-1].Ts)
			}
		}
		slicesOf[names[at]] = all
	}
	for id, parts := range ends {
		slices.SortFunc(parts, func(a, b event) int { return int(a.Ts*100 - b.Ts*100) })
		if len(parts) < 2 || parts[0].Ph != "s" || parts[len(parts)-1].Ph != "f" {
			t.Errorf("flow %d is %+v", id, parts)
		}
		for _, p := range parts {
			if !slices.ContainsFunc(lasting[track{p.Pid, p.Tid}], func(e event) bool { return e.Ts <= p.Ts && p.Ts <= e.Ts+*e.Dur }) {
				t.Errorf("a part of flow %d is in no slice: %+v", id, p)
			}
		}
	}
	return slicesOf, instants, len(ends)
}

// The traces of known bugs have their operations, requests with both ways, and faults.
func TestStory(t *testing.T) {
	for _, id := range []string{"LK10", "X5", "C1", "DQ7", "LK6"} {
		animals, err := zoo.Find([]string{id})
		if err != nil {
			t.Fatal(err)
		}
		a := animals[0]
		catch, err := zoo.NewHunter(zoo.HuntConfig{Seed: 1, SkipTwin: true, Workers: 1}).Hunt(t.Context(), a)
		if err != nil || catch.Found == nil {
			t.Fatalf("%s got away: %v", id, err)
		}
		cfg, w := sim.Config{NoFaultsAtAll: true, Clients: a.Clients, Faults: a.Faults()}, a.Broken()
		c, err := cfg.Counterexample(sim.Result{Workload: w.Name(), Recipe: w.Recipe()}, *catch.Found)
		if err != nil {
			t.Fatal(err)
		}
		r, err := sim.Replay(w, c)
		if err != nil {
			t.Fatal(err)
		}
		s := story.Of(c, w, r)
		found, instants, flows := read(t, func(w io.Writer) error { return perfetto.Story(w, s) })
		requests, faults := 0, 0
		for _, e := range s.Events {
			if e.Kind == "request" || e.Kind == "exchange" {
				requests++
			}
			if e.Kind == "fault" {
				faults++
			}
		}
		lived := 0
		for _, c := range s.Clients {
			lived += len(found[c.Name+" sessions"])
		}
		if lived != len(s.Sessions) {
			t.Errorf("%s: the trace has %d sessions of %d", id, lived, len(s.Sessions))
		}
		operations, struck := 0, 0
		for name, all := range found {
			for _, e := range all {
				if _, is := e.Args["outcome"]; is {
					operations++
				} else if e.Args["step"] == nil {
					t.Errorf("%s: %s on %s does not say its step", id, e.Name, name)
				}
			}
		}
		for _, e := range instants {
			if len(e.Name) > 5 && e.Name[:5] == "fault" {
				struck++
			}
		}
		if operations != len(s.Operations) || flows != requests || struck != faults {
			t.Errorf("%s: the trace has %d operations of %d, %d requests of %d, %d faults of %d",
				id, operations, len(s.Operations), flows, requests, struck, faults)
		}
	}
}

// The history of a long run on real servers, in nanoseconds since 1970: all operations of all clients are there, from the
// first call. Those that one client has at the same time have a track each, and one that never returned lasts to the end.
func TestHistory(t *testing.T) {
	const n, first = 100_000, int64(1_790_000_000_000_000_000)
	h := linearizability.History{{Client: 9, Op: "acquire", Outcome: linearizability.Unknown, Call: first, Return: linearizability.Forever}}
	for i := range int64(n) {
		h = append(h, linearizability.Operation{Client: int(i % 8), Op: "acquire", Outcome: linearizability.OK, Object: "lock-1",
			Call: first + i*1_000_000, Return: first + i*1_000_000 + 5_000_000 + i%7*1_000_000})
	}
	found, _, _ := read(t, func(w io.Writer) error { return perfetto.History(w, h, nil) })
	all := 0
	for _, of := range found {
		all += len(of)
	}
	open := found["client 9"]
	if all != n+1 || len(found["client 3"]) == 0 || len(found["client 3 (2)"]) == 0 || len(open) != 1 {
		t.Fatalf("the trace has %d operations, %d and %d of client 3", all, len(found["client 3"]), len(found["client 3 (2)"]))
	}
	if e := found["client 0"][0]; e.Ts != 0 || *e.Dur != 5000 || e.Args["object"] != "lock-1" {
		t.Errorf("the first operation is %+v", e)
	}
	if end := open[0].Ts + *open[0].Dur; end < float64(n-1)*1000 {
		t.Errorf("what never returned ends at %s", fmt.Sprint(end))
	}
}

// The folder of a run on servers has the faults of clients, those of servers until all were well, and who led, on the clock of
// its operations. What it lacks is said.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../operators/testdata/leader")); err != nil {
		t.Fatal(err)
	}
	faults, err := os.OpenFile(filepath.Join(dir, "faults.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(faults, `{"round":6,"client":2,"request":10,"fault":"loss","variant":"answer","for_ms":7,"at":400000000,"struck":true}`)
	fmt.Fprintln(faults, `{"round":6,"client":2,"request":15,"fault":"expiry","variant":"after","struck":false}`)
	if err := faults.Close(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	c := &console.Context{Context: t.Context(), Streams: console.Streams{Stderr: &said}}
	of := func() map[string][]event {
		write, err := perfetto.Run(c, dir)
		if err != nil {
			t.Fatal(err)
		}
		found, _, _ := read(t, write)
		return found
	}
	tracks := of()
	for name, want := range map[string][]string{
		"faults of c2": {"loss answer 400000+7000"},
		"server.3":     {"kill 346864+300000", "until all were well 646864+1499970"},
		"leader":       {"server.3 2+600003", "nobody 600006+600294", "server.2 1200300+1367680"},
	} {
		var got []string
		for _, e := range tracks[name] {
			got = append(got, fmt.Sprintf("%s %d+%d", e.Name, int(e.Ts), int(*e.Dur)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	if first := tracks["client 0"][0]; int(first.Ts) != 73263 || said.Len() > 0 {
		t.Errorf("the first operation begins at %v; it was said: %s", first.Ts, &said)
	}
	if err := os.Remove(filepath.Join(dir, "leaders.jsonl")); err != nil {
		t.Fatal(err)
	}
	if of(); !strings.Contains(said.String(), "there is no leaders.jsonl") {
		t.Errorf("of a file that is not there it was said: %s", &said)
	}
}
