package strike

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk/wire"
)

var update = flag.Bool("update", false, "write what becomes of the frames into the scripts")

// Each script has a rule, and what becomes of frames by it.
//
//	plan 1 3 loss before 50   client 1's request 3 meets this, for 50 ms
//	one                       all connections are of one client
//	rearm                     what has not struck is forgotten, and requests are counted anew
//	arm a loss before         strikes at the next request of connection a
//	time 50ms                 passes
//	a connect 7               the frames of connection a: the client goes on with session 7,
//	a connected 7             the server lets it,
//	a create 1                request 1,
//	a reply 1                 its reply,
//	a event                   and the event of a watch
//	a ended
func TestScripts(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			script, want, _ := strings.Cut(string(text), "----\n")
			if !strings.HasPrefix(script, "# Rule: ") {
				t.Error("it has no rule")
			}
			got := play(t, script)
			if *update {
				if err := os.WriteFile(name, []byte(script+"----\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func play(t *testing.T, script string) string {
	var out strings.Builder
	plan, cfg, now := Plan{}, Config{Plan: Plan{}}, time.Unix(0, 0)
	var e *Engine
	for line := range strings.Lines(script) {
		words := strings.Fields(line)
		switch {
		case words[0] == "#":
		case words[0] == "plan":
			words = append(words, "", "")
			s := Strike{Fault: Fault(words[3]), Variant: strings.Trim(words[4], "-"), ForMS: int64(number(words[5]))}
			if _, known := Find(table, s.Fault, s.Variant); !known {
				t.Fatal(line)
			}
			plan[Place{number(words[1]), number(words[2])}] = s
		case words[0] == "one":
			cfg.One = true
		case words[0] == "time":
			d, err := time.ParseDuration(words[1])
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(d)
		default:
			if e == nil {
				cfg.Plan = plan
				e = NewEngine(cfg)
			}
			if told := step(e, plan, now, words); told != "" {
				fmt.Fprintf(&out, "%-16s %s\n", strings.TrimSpace(line), told)
			}
		}
	}
	return out.String()
}

// step does what a line says, and tells what becomes of a frame.
func step(e *Engine, plan Plan, now time.Time, words []string) string {
	switch words[0] {
	case "rearm":
		e.Rearm(plan)
		return ""
	case "arm":
		w, _ := Find(table, Fault(words[2]), words[3])
		e.Arm(int(words[1][0]-'a')+1, w)
		return ""
	}
	connection := int(words[0][0]-'a') + 1
	words = append(words, "", "")
	f := wire.Frame{Connection: connection, Xid: int32(number(words[2])), Session: int64(number(words[2]))}
	switch words[1] {
	case "ended":
		e.Ended(connection)
		return ""
	case "connect":
		f.Kind, f.Resumes = wire.Connect, f.Session
	case "connected":
		f.Kind = wire.Connected
	case "reply":
		f.Kind = wire.Reply
	case "event":
		f.Kind = wire.Event
	default:
		f.Kind, f.Op = wire.Request, opNamed(words[1])
	}
	return describe(e.Take(now, &f))
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func opNamed(name string) wire.Op {
	for op := wire.Op(-20); op < 200; op++ {
		if op.String() == name {
			return op
		}
	}
	panic(name)
}

var effectNames = []string{
	"lose the next answer", "refuse the client", "ignore the client", "end the session", "hurt the server",
	"freeze the connection", "delay", "silence", "lose the client's end", "lose the server's end", "cut", "cut behind",
}

func describe(a Action) string {
	if a == (Action{}) {
		return "goes on"
	}
	var told []string
	if s := a.Strike; s != nil {
		told = append(told, strings.TrimSpace(fmt.Sprintf("c%d's request %d: %s %s", s.Client, s.Request, s.Fault, s.Variant)))
	}
	for i, name := range effectNames {
		if a.Do&(1<<i) != 0 {
			told = append(told, name)
		}
	}
	if a.For > 0 {
		told = append(told, fmt.Sprint("for ", a.For))
	}
	return strings.Join(told, "; ")
}

// reference says what becomes of the last of some frames, by looking at all before it.
type reference struct {
	plan   Plan
	frames []wire.Frame
}

// begun is the frame by which the connection of frame i began.
func (r *reference) begun(i int) int {
	for j := i; j >= 0; j-- {
		if r.frames[j].Connection == r.frames[i].Connection && r.frames[j].Kind == wire.Connect {
			return j
		}
	}
	return -1
}

// owner is the connect by which the client of frame i first came.
func (r *reference) owner(i int) int {
	begun := r.begun(i)
	for j := begun - 1; j >= 0; j-- {
		f := r.frames[j]
		if f.Kind != wire.Connected || f.Session != r.frames[begun].Resumes || f.Session == 0 {
			continue
		}
		if from := r.begun(j); from >= 0 && r.action(j, from).Strike == nil {
			return r.owner(from)
		}
	}
	return begun
}

// number is the client's: how many clients had a session when it first had one; 0 if it has none.
func (r *reference) number(i int) int {
	owners := map[int]int{}
	for j := range i + 1 {
		if f := r.frames[j]; f.Kind == wire.Connected && f.Session != 0 && r.begun(j) >= 0 {
			if o := r.owner(j); owners[o] == 0 {
				owners[o] = len(owners) + 1
			}
		}
	}
	return owners[r.owner(i)]
}

// met is what a request meets.
func (r *reference) met(i int) (s Strike, w Way, met bool) {
	count := 0
	for j := range i + 1 {
		f := r.frames[j]
		if f.Kind == wire.Request && f.Op == wire.OpCreate && r.owner(j) == r.owner(i) {
			count++
		}
	}
	if f := r.frames[i]; f.Kind != wire.Request || f.Op != wire.OpCreate {
		return s, w, false
	}
	s, met = r.plan[Place{r.number(i), count}]
	w, _ = Find(table, s.Fault, s.Variant)
	return s, w, met
}

// action is what becomes of frame i, on a connection that began with another.
func (r *reference) action(i, begun int) (a struct {
	Strike *Strike
	Do     Effect
}) {
	f := r.frames[i]
	if f.Kind == wire.Connected {
		if s, met := r.plan[Place{r.number(i), Hello}]; met && f.Session != 0 && r.frames[begun].Resumes == 0 {
			a.Strike, a.Do = &s, Cut
		}
		return a
	}
	moment := map[wire.Kind]moment{wire.Event: atEvent, wire.Reply: atReply}[f.Kind]
	if f.Op == wire.OpPing {
		moment = atPing
	}
	for j := i; j > begun; j-- {
		g := r.frames[j]
		if g.Connection != f.Connection {
			continue
		}
		s, w, met := r.met(j)
		switch {
		case met && w.at == moment && (moment != atRequest || j == i) && (moment != atReply || f.Xid == g.Xid):
			a.Strike, a.Do = &s, w.do
			return a
		case j < i && g.Kind == f.Kind && g.Op == f.Op && (g.Xid == f.Xid || f.Kind != wire.Reply):
			return a // what was due has struck then
		}
	}
	return a
}

// Property: what becomes of a frame is what its history says: whose it is, as which of the client's requests it counts,
// and what its connection's requests have met. And equal frames have equal actions.
func TestEngineIsItsHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &reference{plan: rapid.MapOfN(
			rapid.Custom(func(t *rapid.T) Place {
				return Place{rapid.IntRange(1, 3).Draw(t, "client"), rapid.IntRange(Hello, 5).Draw(t, "request")}
			}),
			rapid.Custom(func(t *rapid.T) Strike {
				w := rapid.SampledFrom([]Way{table[0], table[1], table[4], {Fault: Watch, Variant: "lost"}}).Draw(t, "way")
				return Strike{Fault: w.Fault, Variant: w.Variant}
			}), 0, 12).Draw(t, "plan")}
		e, again := NewEngine(Config{Plan: r.plan}), NewEngine(Config{Plan: r.plan})
		for i := range rapid.IntRange(1, 30).Draw(t, "frames") {
			f := drawFrame(t, r)
			r.frames = append(r.frames, f)
			got := e.Take(time.Unix(int64(i), 0), &f)
			if other := again.Take(time.Unix(int64(i), 0), &f); !reflect.DeepEqual(got, other) {
				t.Fatalf("frame %d, %+v: %s, and again: %s", i, f, describe(got), describe(other))
			}
			if begun := r.begun(i); begun >= 0 {
				want := r.action(i, begun)
				if want.Do != got.Do || (want.Strike == nil) != (got.Strike == nil) || want.Strike != nil &&
					(want.Strike.Fault != got.Strike.Fault || want.Strike.Variant != got.Strike.Variant) {
					t.Fatalf("frame %d, %+v: %s, want %v %b", i, f, describe(got), want.Strike, want.Do)
				}
			}
		}
	})
}

// drawFrame draws a frame that can come next: a connection begins once, gets one answer, and then has requests, replies
// and events.
func drawFrame(t *rapid.T, r *reference) wire.Frame {
	f := wire.Frame{Connection: rapid.IntRange(1, 4).Draw(t, "connection"), Xid: rapid.Int32Range(1, 2).Draw(t, "xid")}
	last, begun, answered, known := wire.Connect, false, false, []int64{0}
	for _, g := range r.frames {
		if g.Kind == wire.Connected {
			known = append(known, g.Session)
		}
		if g.Connection == f.Connection {
			last, begun, answered = g.Kind, true, answered || g.Kind == wire.Connected
			f.Session = max(f.Session, g.Session)
		}
	}
	switch {
	case !begun:
		f.Kind, f.Resumes = wire.Connect, rapid.SampledFrom(known).Draw(t, "session")
	case last == wire.Connect && !answered:
		f.Kind = wire.Connected
		if f.Session = r.frames[r.begunOf(f.Connection)].Resumes; f.Session == 0 {
			f.Session = int64(len(r.frames)) // another
		}
	default:
		f.Kind = rapid.SampledFrom([]wire.Kind{wire.Request, wire.Reply, wire.Event}).Draw(t, "kind")
		if f.Op = wire.OpCreate; f.Kind == wire.Request && rapid.Bool().Draw(t, "ping") {
			f.Op = wire.OpPing
		}
	}
	return f
}

func (r *reference) begunOf(connection int) int {
	for i := len(r.frames) - 1; i >= 0; i-- {
		if r.frames[i].Connection == connection && r.frames[i].Kind == wire.Connect {
			return i
		}
	}
	return -1
}
