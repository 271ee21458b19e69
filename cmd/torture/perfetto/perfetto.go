// Package perfetto writes runs as traces that https://ui.perfetto.dev opens, which searches, zooms and answers SQL where a
// page does not reach: Google's Trace Event Format, as a JSON object.
//
// Each user of a client has a track with its operations, each client one with its requests, and each server one with
// what it answers; arrows lead from a request to the server, and back with the reply. Faults are instants. Of a story a
// step is a millisecond, as most steps take no time; of a recorded history time is as recorded, from the first call. The
// folder of a run on servers has its faults, too, from the run's begin: a track for those of each client, and one for each
// server that was hurt, or part of the network, and who led. Such a folder says nothing of sessions.
package perfetto

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/cmd/torture/operators"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/story"
)

// event is an event of the format. Times are in microseconds.
type event struct {
	Phase    string         `json:"ph"`
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Time     float64        `json:"ts"`
	Duration *float64       `json:"dur,omitempty"` // of a slice
	Process  int            `json:"pid"`
	Track    int            `json:"tid"`
	ID       int            `json:"id,omitempty"` // of a flow
	Binding  string         `json:"bp,omitempty"` // "e": a flow ends in the slice around it
	Scope    string         `json:"s,omitempty"`  // of an instant: "g", all tracks, or "t", its own
	Args     map[string]any `json:"args,omitempty"`
}

// trace collects events.
type trace struct {
	events []event
	tracks map[string]int // by name
}

// The processes of a trace.
const (
	clients = 1
	servers = 2
	strikes = 3
)

func newTrace() *trace {
	t := &trace{tracks: map[string]int{}}
	for pid, name := range []string{clients: "clients", servers: "ZooKeeper", strikes: "faults of clients"} {
		if pid > 0 {
			t.meta("process_name", pid, 0, name)
		}
	}
	return t
}

func (t *trace) meta(what string, process, track int, name string) {
	t.events = append(t.events, event{Phase: "M", Name: what, Process: process, Track: track, Args: map[string]any{"name": name}})
}

// track is the number of a track, by its name.
func (t *trace) track(process int, name string) int {
	n, known := t.tracks[name]
	if !known {
		n = len(t.tracks) + 1
		t.tracks[name] = n
		t.meta("thread_name", process, n, name)
	}
	return n
}

// slice is something that lasts.
type slice struct {
	name, track string
	process     int
	from, until float64
	args        map[string]any
	flow        int     // of which it is a part; 0: none
	of          string  // "s", "t" or "f": where the flow begins, goes through or ends
	back        float64 // if it is not 0 the flow ends here, too
}

// add adds slices. Those that overlap have tracks of their own, as slices of one track have to be nested.
func (t *trace) add(parts []slice) {
	slices.SortStableFunc(parts, func(a, b slice) int { return cmp.Compare(a.from, b.from) })
	free := map[string][]float64{} // of each track, and of those beside it, the end of the last slice
	for _, s := range parts {
		ends := free[s.track]
		i := slices.IndexFunc(ends, func(end float64) bool { return end <= s.from })
		if i < 0 {
			i, ends = len(ends), append(ends, 0)
		}
		ends[i], free[s.track] = s.until, ends
		name := s.track
		if i > 0 {
			name = fmt.Sprintf("%s (%d)", name, i+1)
		}
		long, track := s.until-s.from, t.track(s.process, name)
		t.events = append(t.events, event{Phase: "X", Name: s.name, Category: "zk", Time: s.from, Duration: &long, Process: s.process, Track: track, Args: s.args})
		if s.flow > 0 {
			t.events = append(t.events, event{Phase: s.of, Name: "request", Category: "flow", Time: s.from, Process: s.process, Track: track, ID: s.flow, Binding: "e"})
		}
		if s.back > 0 {
			t.events = append(t.events, event{Phase: "f", Name: "request", Category: "flow", Time: s.back, Process: s.process, Track: track, ID: s.flow, Binding: "e"})
		}
	}
}

func (t *trace) write(w io.Writer, clock string) error {
	return json.NewEncoder(w).Encode(map[string]any{"traceEvents": t.events, "displayTimeUnit": "ms",
		"otherData": map[string]string{"clock": clock}})
}

// writeHistory writes a recorded history, and what a run, if it is one, says of its faults. Stamps are in nanoseconds.
func writeHistory(w io.Writer, h linearizability.History, run *operators.Run) error {
	t, all := newTrace(), make([]slice, 0, len(h))
	var first, last int64
	for i, o := range h {
		if i == 0 || o.Call < first {
			first = o.Call
		}
		if last = max(last, o.Call); o.Return != linearizability.Forever {
			last = max(last, o.Return)
		}
	}
	if run != nil {
		first, last = 0, max(last, run.End)
	}
	at := func(stamp int64) float64 { return float64(min(stamp, last)-first) / 1000 }
	for _, o := range h {
		client := fmt.Sprintf("client %d", o.Client)
		if !o.Process.IsNull() {
			client = "client " + o.Process.String()
		}
		args := map[string]any{"outcome": o.Outcome.String(), "call": o.Call, "return": o.Return}
		for name, value := range map[string]linearizability.Value{"arg": o.Arg, "result": o.Result} {
			if !value.IsNull() {
				args[name] = value.String()
			}
		}
		if o.Object != "" {
			args["object"] = o.Object
		}
		if o.Note != "" {
			args["note"] = o.Note
		}
		all = append(all, slice{name: o.Op, track: client, process: clients, from: at(o.Call), until: at(o.Return), args: args})
	}
	if run == nil {
		t.add(all)
		return t.write(w, "as recorded, from the first call, if stamps are nanoseconds")
	}
	t.add(append(all, struck(run, at)...))
	return t.write(w, "nanoseconds since the run began")
}

// struck are the faults of a run, and who led.
func struck(run *operators.Run, at func(int64) float64) (all []slice) {
	for _, s := range run.Strikes {
		all = append(all, slice{name: strings.TrimSpace(string(s.Fault.Fault) + " " + s.Variant), track: fmt.Sprintf("faults of c%d", s.Client),
			process: strikes, from: at(s.At), until: at(s.At + s.ForMS*1e6),
			args: map[string]any{"round": s.Round, "request": s.Request, "operation under way": s.Struck}})
	}
	for _, s := range run.Hurts {
		whom, role, _ := strings.Cut(s.Whom, " (")
		args := map[string]any{"role": strings.TrimSuffix(role, ")"), "operation under way": s.Struck}
		well := cmp.Or(s.Well, run.End)
		over := min(s.At+s.ForMS*1e6, well)
		all = append(all, slice{name: string(s.Kind), track: whom, process: servers, from: at(s.At), until: at(over), args: args})
		if over < well {
			all = append(all, slice{name: "until all were well", track: whom, process: servers, from: at(over), until: at(well), args: args})
		}
	}
	for i, r := range run.Reigns {
		until := run.End
		if i+1 < len(run.Reigns) {
			until = run.Reigns[i+1].At
		}
		all = append(all, slice{name: cmp.Or(r.Server, "nobody"), track: "leader", process: servers, from: at(r.At), until: at(until),
			args: map[string]any{"epoch": r.Epoch}})
	}
	return all
}

// The places of a step's events, in microseconds: many may be in one step.
const (
	step = 1000.0
	tick = 8.0
)

// writeStory writes a story of a simulated run.
func writeStory(w io.Writer, s *story.Story) error {
	t, at := newTrace(), make([]float64, len(s.Events)+1)
	for i, e := range s.Events {
		at[i] = max(float64(e.Step)*step, tick)
		if i > 0 {
			at[i] = max(at[i], at[i-1]+tick)
		}
		at[len(s.Events)] = at[i] + tick
	}
	t.add(slices.Concat(operations(s, at), requests(s, at), sessions(s, at)))
	for i, e := range s.Events {
		args := map[string]any{"step": e.Step, "ms": e.Time}
		switch {
		case e.Kind == "fault" && e.Client < 0:
			t.events = append(t.events, event{Phase: "i", Name: "fault: " + e.What, Time: at[i], Process: servers, Scope: "g", Args: with(args, "what", e.Result)})
		case e.Kind == "fault", e.Kind == "ends", e.Kind == "learns", e.Kind == "begins" && e.Step > 0, e.Kind == "resumes", e.Kind == "closed":
			t.events = append(t.events, event{Phase: "i", Name: string(e.Kind) + ": " + e.What, Time: at[i], Process: clients,
				Track: t.track(clients, s.Clients[e.Client].Name), Scope: "t", Args: with(with(args, "what", e.Result), "lost", e.Lost)})
		case e.Kind == "time" || e.Kind == "healed":
			t.events = append(t.events, event{Phase: "i", Name: string(e.Kind), Time: at[i], Process: servers, Scope: "p", Args: with(args, "what", e.Result)})
		}
	}
	return t.write(w, "a step of the simulated run is 1 ms; ms are those of the servers")
}

// with adds an argument that says something.
func with(args map[string]any, name, value string) map[string]any {
	if value != "" {
		args[name] = value
	}
	return args
}

// operations are slices from call to return. What never returned lasts to the end.
func operations(s *story.Story, at []float64) (all []slice) {
	ends := map[int]float64{}
	for i, e := range s.Events {
		if e.Kind == "return" {
			ends[e.Operation] = at[i]
		}
	}
	for i, e := range s.Events {
		if e.Kind != "call" {
			continue
		}
		o := s.Operations[e.Operation]
		until, ended := ends[e.Operation]
		if !ended {
			until = at[len(s.Events)]
		}
		track := s.Clients[o.Client].Name
		if s.Clients[o.Client].Users > 1 {
			track = fmt.Sprintf("%s u%d", track, o.User+1)
		}
		args := map[string]any{"step": e.Step, "outcome": o.Outcome, "involved": o.Cited}
		all = append(all, slice{name: o.Name + "(" + o.Arg + ")", track: track, process: clients, from: at[i], until: until,
			args: with(with(args, "result", o.Result), "error", o.Error)})
	}
	return all
}

// sessions are slices from a session's begin to its end at the servers.
func sessions(s *story.Story, at []float64) (all []slice) {
	moment := func(step int64) float64 {
		i := slices.IndexFunc(s.Events, func(e story.Event) bool { return e.Step >= step })
		if step < 0 || i < 0 {
			i = len(s.Events)
		}
		return at[i]
	}
	for _, o := range s.Sessions {
		all = append(all, slice{name: o.Name, track: s.Clients[o.Client].Name + " sessions", process: clients, from: moment(o.Begin), until: moment(o.End),
			args: map[string]any{"id": o.ID, "expired": o.Expired, "step": o.Begin}})
	}
	return all
}

// requests are slices at the client, from when a request was sent to its reply, with one at the server when it arrives.
func requests(s *story.Story, at []float64) (all []slice) {
	replies := map[int]int{}
	for i, e := range s.Events {
		if e.Kind == "reply" && e.From >= 0 {
			replies[e.From] = i
		}
	}
	for i, e := range s.Events {
		server, client := fmt.Sprintf("server %d", max(e.Server, 0)), ""
		if e.Client >= 0 {
			client = s.Clients[e.Client].Name + " requests"
		}
		args := with(with(with(map[string]any{"step": e.Step}, "path", e.Path), "code", e.Code), "callers", e.Callers)
		switch e.Kind {
		case "request", "exchange":
			sent, until := at[i]-tick/2, at[i]+tick/2
			if e.Sent < e.Step {
				sent = min(sent, max(float64(e.Sent)*step+step/2, 1))
			}
			reply, answered := replies[i]
			if answered {
				until = at[reply]
			}
			args = with(args, "result", e.Result)
			asked := slice{name: e.What, track: client, process: clients, from: sent, until: until, args: args, flow: i + 1, of: "s"}
			arrived := slice{name: e.What, track: server, process: servers, from: at[i], until: at[i] + tick/4, args: args, flow: i + 1, of: "f"}
			if answered || e.Kind == "exchange" {
				asked.back, arrived.of = until-1, "t"
			}
			all = append(all, asked, arrived)
		case "watch":
			all = append(all, slice{name: "event " + e.What, track: client + ", events", process: clients, from: at[i], until: at[i] + tick/2, args: args})
		}
	}
	return all
}
