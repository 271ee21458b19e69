package world

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// script is an episode in text: what each client does, and what the world does to them.
//
//	# a comment
//	faults loss,expiry        what may strike
//	set LABEL N M             how the world answers a question of its own: N, and M from then on
//	parents /t/q              znodes that are there at the start
//	network                   clients reach each other: in exact mode
//	c1 create /t/a es         client 1 does this, after what it did before
//	: strike loss c1 1        a fault strikes client 1, in variant 1, as soon as it can
//	: wait c1 create          what follows waits until client 1 has a create on the wire
//	: prefer c2               from here on client 2 goes first
//	: avoid c1 connect        from here on client 1 does this only if there is nothing else
type script struct {
	faults  Faults
	door    Door
	set     map[string][]int
	parents []string
	clients [][][]string
	world   [][]string
}

func parseScript(t *testing.T, text string) *script {
	s := &script{set: map[string][]int{"faults at most": {5}}, parents: []string{"/t"}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "faults":
			s.faults, _ = ParseFaults(words[1])
		case words[0] == "set":
			s.answer(words[1:])
		case words[0] == "network":
			s.door = ByDialer
		case words[0] == "parents":
			s.parents = append(s.parents, words[1:]...)
		case words[0] == ":":
			s.world = append(s.world, words[1:])
		case words[0][0] == 'c':
			id := clientNumber(words[0])
			for len(s.clients) <= id {
				s.clients = append(s.clients, nil)
			}
			s.clients[id] = append(s.clients[id], words[1:])
		default:
			t.Fatalf("cannot read %q", line)
		}
	}
	return s
}

// answer reads a label and the numbers after it.
func (s *script) answer(words []string) {
	var label []string
	var numbers []int
	for _, word := range words {
		if n, err := strconv.Atoi(word); err == nil {
			numbers = append(numbers, n)
		} else {
			label = append(label, word)
		}
	}
	s.set[strings.Join(label, " ")] = numbers
}

func clientNumber(name string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "c"))
	return n - 1
}

// Name, Recipe and Plan make a script a workload.
func (s *script) Name() string         { return "script" }
func (s *script) Terms() Terms         { return Terms{Door: s.door} }
func (s *script) Recipe() string       { return "text" }
func (s *script) Plan(p *Plan) Episode { return &scripted{script: s, left: slices.Clone(s.clients)} }

// scripted is one run of a script.
type scripted struct {
	*script
	left [][][]string
}

func (s *scripted) Parents() []string { return s.parents }

func (s *scripted) Users() []int { return slices.Repeat([]int{1}, len(s.clients)) }

func (s *scripted) Judge(*World) Judgement { return Judgement{} }

func (s *scripted) MayWaitForever(w *World) bool {
	for _, op := range w.Waiting() {
		w.Cancel(op)
	}
	return true
}

func (s *scripted) Run(u *User) {
	for len(s.left[u.Client]) > 0 {
		words := s.left[u.Client][0]
		s.left[u.Client] = s.left[u.Client][1:]
		ctx, op := u.Begin(words[0], strings.Join(words[1:], " "), true)
		result, err := scriptOps[words[0]](ctx, u, words[1:])
		outcome := OK
		if err != nil {
			outcome = Fail
		}
		op.End(outcome, result, err)
	}
}

// scriptOps are what a client can do.
var scriptOps = map[string]func(ctx context.Context, u *User, args []string) (string, error){
	"create": func(_ context.Context, u *User, args []string) (string, error) {
		flags := int32(0)
		if len(args) > 1 && strings.Contains(args[1], "e") {
			flags |= zk.FlagEphemeral
		}
		if len(args) > 1 && strings.Contains(args[1], "s") {
			flags |= zk.FlagSequence
		}
		return u.Conn().Create(args[0], nil, flags, zk.WorldACL(zk.PermAll))
	},
	"delete": func(_ context.Context, u *User, args []string) (string, error) {
		return "", u.Conn().Delete(args[0], -1)
	},
	"set": func(_ context.Context, u *User, args []string) (string, error) {
		stat, err := u.Conn().Set(args[0], nil, -1)
		if err != nil {
			return "", err
		}
		return fmt.Sprint("version ", stat.Version), nil
	},
	"move": func(_ context.Context, u *User, args []string) (string, error) { // an empty znode
		_, err := u.Conn().Multi(&zk.DeleteRequest{Path: args[0], Version: -1},
			&zk.CreateRequest{Path: args[1], Acl: zk.WorldACL(zk.PermAll)})
		return "", err
	},
	"exists": func(_ context.Context, u *User, args []string) (string, error) {
		there, _, err := u.Conn().Exists(args[0])
		return fmt.Sprint(there), err
	},
	"sync": func(_ context.Context, u *User, args []string) (string, error) {
		return u.Conn().Sync(args[0])
	},
	"watch": func(ctx context.Context, u *User, args []string) (string, error) {
		_, _, events, err := u.Conn().ExistsW(args[0])
		if err != nil {
			return "", err
		}
		return await(ctx, events)
	},
	"list": func(ctx context.Context, u *User, args []string) (string, error) {
		_, _, events, err := u.Conn().ChildrenW(args[0])
		if err != nil {
			return "", err
		}
		return await(ctx, events)
	},
	"hear": func(ctx context.Context, u *User, args []string) (string, error) {
		n, err := strconv.Atoi(args[0])
		events := u.Conn().SessionEvents()
		var heard []string
		for range n {
			select {
			case event := <-events:
				heard = append(heard, strings.TrimPrefix(event.State.String(), "State"))
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return strings.Join(heard, " "), err
	},
	"close": func(_ context.Context, u *User, _ []string) (string, error) {
		u.Conn().Close()
		return u.Conn().State().String(), nil
	},
	"sleep": func(ctx context.Context, u *User, args []string) (string, error) {
		d, err := time.ParseDuration(args[0])
		if err != nil {
			return "", err
		}
		select {
		case <-time.After(d):
			return "awake", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	},
}

// await waits for the event of a watch.
func await(ctx context.Context, events <-chan zk.Event) (string, error) {
	select {
	case event := <-events:
		return event.Type.String(), event.Err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// scriptedSource answers the world's questions as the script's world lines say.
type scriptedSource struct {
	*script
	Blind
	w       *World
	todo    [][]string
	prefer  []string
	avoid   [][]string
	target  int
	variant int
}

func newScriptedSource(s *script) *scriptedSource { return &scriptedSource{script: s, todo: s.world} }

// Chooses implements [Observer]: that is how a source gets to see the world.
func (s *scriptedSource) Chooses(w *World, label string) {
	if label == LabelFault {
		s.w = w
	}
}

func (s *scriptedSource) Choose(n int, label string) int {
	if s.w != nil {
		s.advance()
	}
	switch label {
	case LabelSwarm:
		return 1
	case LabelFault:
		return s.strike()
	case LabelTarget:
		return s.target
	case LabelVariant:
		return s.variant
	case LabelNext:
		return s.next()
	}
	return min(s.fixed(label), n-1)
}

func (s *scriptedSource) fixed(label string) int {
	answers := s.set[label]
	if len(answers) == 0 {
		return 0
	}
	if len(answers) > 1 {
		s.set[label] = answers[1:]
	}
	return answers[0]
}

// advance carries out world lines up to the next strike, or a wait that is not over.
func (s *scriptedSource) advance() {
	for len(s.todo) > 0 {
		words := s.todo[0]
		switch words[0] {
		case "prefer":
			s.prefer = words[1:]
		case "avoid":
			s.avoid = append(s.avoid, words[1:])
		case "wait":
			if !s.holds(words[1:]) {
				return
			}
		case "set":
			s.answer(words[1:])
		default:
			return
		}
		s.todo = s.todo[1:]
	}
}

func (s *scriptedSource) holds(words []string) bool {
	if words[0] == "deposed" || words[0] == "noticed" {
		return (words[0] == "deposed") == (s.w.servers.Deposed() >= 0)
	}
	p := s.w.procs[clientNumber(words[0])]
	switch words[1] {
	case "carry":
		s.w.Collect()
		return slices.ContainsFunc(s.w.actions, func(a Action) bool { return matches(words, a) })
	case "linked":
		return s.w.CanStrike(Loss, func(t Target) bool { return t.client == p.id && t.variants > len(lossesOfDial) })
	}
	_, connected := p.clients[0].Connected()
	switch words[1] {
	case "connected":
		return connected
	case "disconnected":
		return !connected
	case "event":
		return connected && eventPending((*World)(s.w), p.clients[0])
	case "idle":
		return connected && p.clients[0].Sent() == nil
	case "watching":
		return p.clients[0].Watches() > 0
	case "unborn":
		return p.session() == 0
	case "late":
		return p.inProcess.HoldsAny()
	case "finished":
		return !p.unfinished()
	}
	call := p.clients[0].Sent()
	return call != nil && opNames[call.Request.Op] == words[1]
}

// strike returns the number of the fault that the script wants now.
func (s *scriptedSource) strike() int {
	if len(s.todo) == 0 || s.todo[0][0] != "strike" {
		return 0
	}
	words := s.todo[0][1:]
	fault, _ := ParseFault(words[0])
	if s.target = s.find(fault, words[1]); s.target < 0 {
		return 0
	}
	s.variant, _ = strconv.Atoi(words[2])
	s.todo = s.todo[1:]
	return 1 + bits.OnesCount16(uint16(s.w.faults&^Wrap&(fault-1)))
}

// find returns which of a fault's targets is meant: "c1", "server1" or "-".
func (s *scriptedSource) find(fault Faults, whom string) int {
	client := clientNumber(whom)
	if server, ok := strings.CutPrefix(whom, "server"); ok {
		client, _ = strconv.Atoi(server)
	} else if fault == Lag {
		client += s.w.replicas
	}
	i, found := -1, -1
	faultTable[fault.Index()].find((*World)(s.w), func(t Target) {
		i++
		if found < 0 && (whom == "-" || t.client == client) {
			found = i
		}
	})
	return found
}

var actionNames = map[ActionKind]string{
	ActArrive: "arrive", ActDeliver: "deliver", ActOutside: "outside", ActReconnect: "connect",
	ActRestart: "restart", ActApply: "apply", ActRelease: "release", ActResume: "resume", ActTell: "told",
	ActRegain: "regain", ActNotice: "notice", ActTellLate: "late", ActEndLate: "cancelled",
}

func (s *scriptedSource) next() int {
	calmest := -1
	for i, a := range s.w.actions {
		if matches(s.prefer, a) {
			return i
		}
		if calmest < 0 && !slices.ContainsFunc(s.avoid, func(words []string) bool { return matches(words, a) }) {
			calmest = i
		}
	}
	return max(calmest, 0)
}

var ofServers = []ActionKind{ActApply, ActRegain, ActNotice}

// matches reports whether an action is meant by words like "c1 connect", "c1", "apply".
func matches(words []string, a Action) bool {
	for _, word := range words {
		isClient := strings.HasPrefix(word, "c") && clientNumber(word) >= 0
		if isClient && (slices.Contains(ofServers, a.Kind) || a.Client != clientNumber(word)) ||
			!isClient && actionNames[a.Kind] != word {
			return false
		}
	}
	return len(words) > 0
}

// play runs a script and returns the trace.
func (s *script) play(t *testing.T) []string {
	var trace []Step
	source := newScriptedSource(s)
	o := Play(s, &Settings{
		Source: source, Faults: s.faults, Clients: 3, Ops: 4, StepsMax: 400, Servers: fakezk.New(fakezk.Config{}), Trace: &trace,
		Tape: new(bubble.Tape),
	})
	o.Conclude(s)
	if len(source.todo) > 0 {
		t.Errorf("the world never came to do %q", source.todo[0])
	}
	for _, v := range o.Violations {
		t.Errorf("%s: %s", v.Property, v.Message)
	}
	var lines []string
	for _, step := range trace {
		lines = append(lines, step.String())
	}
	return lines
}

// confusing has the world do what it must not: it takes a request into its client's queue thrice.
type confusing struct{ Blind }

func (confusing) Chooses(w *World, _ string) {
	if len(w.procs) == 0 {
		return
	}
	if c := w.procs[0].inProcess; c.Sent() != nil {
		c.Accept(c.Sent())
		c.Accept(c.Sent())
	}
}

// A world that breaks a rule of its own says so, and judges nothing.
func TestRulesOfTheWorld(t *testing.T) {
	s := parseScript(t, "c1 create /t/a\n")
	o := Play(s, &Settings{
		Source: newScriptedSource(s), Clients: 1, Ops: 1, StepsMax: 400, Servers: fakezk.New(fakezk.Config{}),
		Trace: new([]Step), Observers: []Observer{confusing{}},
	})
	if !strings.Contains(o.Unknown, "rule of its own") || !strings.Contains(o.Unknown, "/t/a is pending twice") {
		t.Errorf("%q, and violations %v", o.Unknown, o.Violations)
	}
}
