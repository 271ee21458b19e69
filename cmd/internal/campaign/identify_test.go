package campaign

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/zoo"
)

// line is a line of a trace of c1's operation 1, or of c2's operation 2.
func line(kind world.Kind, client int, request string) world.Step {
	return world.Step{Client: client, Detail: world.Detail{Kind: kind, Request: request, Op: int64(client + 1)}}
}

func refused(s world.Step, code wire.Code) world.Step {
	s.Err = code
	return s
}

func fault(of world.Faults, client int) world.Step {
	return world.Step{Client: client, Detail: world.Detail{Kind: world.KindFault, Fault: of}}
}

func lost(of world.Faults, client int, what world.Lost, request string) world.Step {
	s := fault(of, client)
	s.Lost, s.Request, s.Op = what, request, int64(client+1)
	return s
}

// What a fault did to the recipe counts, and not which fault it was.
func TestShape(t *testing.T) {
	calls := []world.Step{line(world.KindCall, 0, ""), line(world.KindCall, 1, "")}
	breaks, gone := []string{"connection breaks"}, []string{"another client leaves"}
	for name, tt := range map[string]struct {
		trace []world.Step
		want  []string
	}{
		"nothing strikes":     {nil, []string{"no fault, users: 2"}},
		"a request is lost":   {[]world.Step{lost(world.Loss, 0, world.LostRequest, "delete")}, breaks},
		"no request is lost":  {[]world.Step{fault(world.Loss, 0)}, breaks},
		"another server":      {[]world.Step{fault(world.Lag, 0)}, breaks},
		"the reply to a read": {[]world.Step{lost(world.Loss, 0, world.LostReply, "children")}, breaks},
		"an event":            {[]world.Step{lost(world.Watch, 0, world.LostEvent, "")}, breaks},
		"a late event":        {[]world.Step{fault(world.Watch, 0)}, []string{"watch"}},
		"a server behind":     {[]world.Step{fault(world.Lag, -1)}, []string{"lag"}},
		"the reply to a write": {[]world.Step{
			lost(world.Loss, 0, world.LostReply, "create"),
		}, []string{"answer to create lost"}},
		"a reply on its way": {[]world.Step{
			line(world.KindRequest, 0, "create"), fault(world.Lag, 0),
		}, []string{"answer to create lost"}},
		"the servers close": {[]world.Step{
			line(world.KindRequest, 0, "create"), fault(world.Quorum, -1), line(world.KindClosed, 0, ""),
		}, []string{"answer to create lost", "quorum"}},
		"a reply that has come": {[]world.Step{
			line(world.KindRequest, 0, "create"), line(world.KindReply, 0, ""), fault(world.Loss, 0),
		}, []string{"connection breaks", "last answer: create ok"}},
		"a session ends": {[]world.Step{fault(world.Expiry, 0)}, []string{"expiry"}},
		"… with a reply on its way": {[]world.Step{
			line(world.KindRequest, 0, "set"), fault(world.Expiry, 0),
		}, []string{"answer to set lost", "expiry"}},
		"a process dies": {[]world.Step{
			line(world.KindRequest, 0, "set"), lost(world.Crash, 0, world.LostReply, "set"),
		}, []string{"crash"}},
		"another session ends":    {[]world.Step{fault(world.Expiry, 1)}, gone},
		"another process dies":    {[]world.Step{fault(world.Crash, 1)}, gone},
		"another caller gives up": {[]world.Step{fault(world.Cancel, 1)}, gone},
		"somebody's connection":   {[]world.Step{fault(world.Loss, 1)}, breaks},
		"time passes besides": {[]world.Step{
			fault(world.Time, -1), fault(world.Pause, 0), fault(world.Loss, 0), fault(world.Wrap, -1),
		}, []string{"wrap"}},
		"others come besides": {[]world.Step{
			fault(world.Crash, 0), fault(world.Crash, 1), fault(world.Wrap, -1),
		}, []string{"wrap"}},
		"a reply of two": {[]world.Step{
			line(world.KindRequest, 0, "get"), line(world.KindRequest, 0, "set"), line(world.KindReply, 0, ""),
			fault(world.Loss, 0),
		}, []string{"answer to set lost", "last answer: get ok"}},
		"a reply after another": {[]world.Step{
			line(world.KindRequest, 0, "get"), fault(world.Loss, 0), line(world.KindRequest, 0, "set"),
			line(world.KindReply, 0, ""),
		}, []string{"connection breaks", "last answer: set ok"}},
		"two users of a client": {[]world.Step{
			{Detail: world.Detail{Kind: world.KindCall, User: 1}},
		}, []string{"no fault, users: 3"}},
		"time passes": {[]world.Step{fault(world.Time, -1)}, []string{"time"}},
		"twice the same": {[]world.Step{
			fault(world.Stall, 0), fault(world.Stall, 1), fault(world.Reap, -1),
		}, []string{"reap", "stall"}},
		"the last answer": {[]world.Step{
			fault(world.Stall, 0), line(world.KindExchange, 0, "create"),
			refused(line(world.KindExchange, 0, "exists"), wire.CodeNoNode),
		}, []string{"stall", "last answer: get node does not exist"}},
		"the last answer of another": {[]world.Step{
			fault(world.Stall, 0), line(world.KindExchange, 1, "create"),
		}, []string{"stall"}},
		"the client's own request": {[]world.Step{
			fault(world.Stall, 0), {Client: 0, Detail: world.Detail{Kind: world.KindExchange, Request: "setWatches"}},
		}, []string{"stall"}},
	} {
		v := sim.Violation{Property: "exclusion", Ops: []*world.Op{{Client: 0, Number: 1}}}
		_, shape := Identify(v, slices.Concat(calls, tt.trace))
		if diff := cmp.Diff(tt.want, shape); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	_, shape := Identify(sim.Violation{Property: "watch-leak"}, []world.Step{
		line(world.KindExchange, 1, "get"), {Detail: world.Detail{Kind: world.KindExchange, Request: "setWatches"}},
	})
	if want := []string{"no fault, users: 0", "last answer: get ok"}; !slices.Equal(shape, want) {
		t.Errorf("without operations in the verdict: %q, want %q", shape, want)
	}
}

// The property is part of the identity, and so is each line of the shape.
func TestIdentitiesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, property := range []string{"exclusion", "order"} {
		for _, trace := range [][]world.Step{nil, {fault(world.Wrap, -1)}, {fault(world.Wrap, -1), fault(world.Stall, 0)},
			{line(world.KindExchange, 0, "get")}, {line(world.KindExchange, 0, "set")}} {
			id, _ := Identify(sim.Violation{Property: property}, trace)
			seen[id] = true
		}
	}
	if len(seen) != 10 {
		t.Errorf("of ten stories %d have identities of their own: %v", len(seen), seen)
	}
}

// Names, numbers, values, times, and which client is which are not part of it.
func TestIdentityHasNoParameters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := rapid.SliceOfN(rapid.Custom(drawLine), 1, 20).Draw(t, "trace")
		cited := rapid.IntRange(0, 2).Draw(t, "cited")
		clients := rapid.Permutation([]int{0, 1, 2}).Draw(t, "clients")
		offset := rapid.Int64Range(1, 1000).Draw(t, "numbers")
		other := slices.Clone(trace)
		for i := range other {
			s := &other[i]
			s.N, s.At = s.N*3+7, s.At+time.Hour
			s.Path, s.Result, s.Answer, s.Made = s.Path+"x", "in other words", "[a b]", ""
			s.Session, s.Zxid = s.Session+offset, s.Zxid+offset
			if s.Client >= 0 {
				s.Client = clients[s.Client]
			}
			if s.Op > 0 {
				s.Op += offset
			}
			if s.Request == "exists" {
				s.Request = "get"
			}
		}
		id, shape := Identify(sim.Violation{
			Property: "exclusion", Message: "one", Ops: []*world.Op{{Client: cited, Number: int64(cited + 1)}},
		}, trace)
		otherID, otherShape := Identify(sim.Violation{
			Property: "exclusion", Message: "two", Ops: []*world.Op{{Client: clients[cited], Number: int64(cited+1) + offset}},
			Paths: []string{"/x"}, Sessions: []int64{offset},
		}, other)
		if id != otherID || !slices.Equal(shape, otherShape) {
			t.Fatalf("%s %q has become %s %q", id, shape, otherID, otherShape)
		}
	})
}

func drawLine(t *rapid.T) world.Step {
	kinds := []world.Kind{world.KindCall, world.KindReturn, world.KindRequest, world.KindExchange, world.KindReply, world.KindWatch,
		world.KindClosed, world.KindConnect, world.KindFault, world.KindTime}
	s := world.Step{
		N: rapid.IntRange(0, 100).Draw(t, "step"), Client: rapid.IntRange(-1, 2).Draw(t, "client"), Path: "/t/lock",
		Result: "ok", Detail: world.Detail{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")},
	}
	if s.Op = int64(s.Client + 1); rapid.Bool().Draw(t, "its own") {
		s.Op = 0
	}
	s.Request = rapid.SampledFrom([]string{"", "create", "delete", "exists", "get", "children"}).Draw(t, "request")
	if s.Kind == world.KindFault {
		s.Fault = 1 << rapid.IntRange(0, 12).Draw(t, "fault")
		s.Lost = rapid.SampledFrom([]world.Lost{"", world.LostRequest, world.LostReply, world.LostEvent}).Draw(t, "lost")
	}
	s.Err = rapid.SampledFrom([]wire.Code{wire.CodeOK, wire.CodeNoNode}).Draw(t, "error")
	return s
}

// One mistake in recipes of several libraries is one failure, whatever the seed; several mistakes in one recipe that
// break the same property are several.
func TestKnownBugsAreToldApart(t *testing.T) {
	same := [][]string{
		{"W1", "W17", "E7"}, // the one before is gone when it is to be watched
		{"LK12", "ZL14"},    // an owner is not told that its session has expired
		{"W5", "ZL10"},      // a delete that fails is forgotten
		{"DQ2"},             // a delete whose reply is lost
	}
	apart := [][]string{{"W5", "W10", "W11"}, {"W2", "W15"}}
	id := map[string]string{}
	identify := func(bug string, seed uint64) string {
		key := fmt.Sprint(bug, " ", seed)
		if id[key] == "" {
			id[key] = hunted(t, bug, seed)
		}
		return id[key]
	}
	for _, bugs := range same {
		want := identify(bugs[0], 1)
		for i, bug := range append(bugs, bugs[0]) {
			seed := uint64(1 + i/len(bugs)) // the first one again, with another seed
			if got := identify(bug, seed); got != want {
				t.Errorf("%s, seed %d, is %s, and %s is %s", bug, seed, got, bugs[0], want)
			}
		}
	}
	for _, bugs := range apart {
		for i, bug := range bugs {
			for _, other := range bugs[:i] {
				if identify(bug, 1) == identify(other, 1) {
					t.Errorf("%s and %s are %s", bug, other, identify(bug, 1))
				}
			}
		}
	}
}

func hunted(t *testing.T, bug string, seed uint64) string {
	t.Helper()
	found := must[[]zoo.KnownBug](t)(zoo.Find([]string{bug}))
	hunter := zoo.NewHunter(zoo.HuntConfig{Seed: seed, SkipFixed: true})
	c := must[zoo.Catch](t)(hunter.Hunt(context.Background(), found[0]))
	if c.Found == nil {
		t.Fatalf("%s was not found", bug)
	}
	id, _ := Identify(c.Found.Violation, c.Found.Trace)
	return id
}
