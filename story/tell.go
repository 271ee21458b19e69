package story

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim"
)

// New makes the story of a counterexample from its replay. The error is for a replay in which nothing
// broke, or that went another way than the file's.
func New(c *sim.Counterexample, r *sim.Replayed) (*Story, error) {
	if err := Same(c, r); err != nil {
		return nil, err
	}
	s := newStory(r.Violation.Property, r.Violation.Message)
	s.Title = fmt.Sprintf("%s (%s) breaks %s: %s", c.Workload, c.Recipe, s.Property, s.Message)
	s.Workload, s.Recipe, s.Clock, s.Servers = c.Workload, c.Recipe, ClockSteps, r.Record.Servers
	s.Faults, s.Struck = c.Faults, r.Record.Struck.String()
	t := &teller{story: s, replayed: r, record: r.Record, sessions: map[int64]int{}, operations: map[int64]int{}}
	t.tell()
	return t.story, nil
}

// Same returns an error if a replay is not the run that its counterexample recorded, or if nothing broke
// in it, or something else. Of one that is known to be another run each time it is enough that the same
// property broke.
func Same(c *sim.Counterexample, r *sim.Replayed) error {
	switch {
	case r.Diverged >= 0 && c.Divergence != nil && r.Violation != nil && r.Violation.Property == c.Property:
		return nil // it broke, by steps of its own
	case r.Diverged >= 0:
		return fmt.Errorf("the run differs from the recorded one at line %d of the trace, in each of %d tries; was the counterexample made by another version?\n  recorded: %s\n  now:      %s",
			r.Diverged+1, r.Try, lineAt(c.Trace, r.Diverged), lineAt(sim.Lines(r.Trace), r.Diverged))
	case r.Violation == nil && c.Property == sim.PropertyCrash:
		return fmt.Errorf("it is of an episode in which the process died; this time it did not, and nothing broke")
	case r.Violation == nil:
		return fmt.Errorf("nothing broke this time, although the trace is the same")
	case r.Violation.Property != c.Property && c.Property != sim.PropertyCrash:
		return fmt.Errorf("the file says that %s is broken, but the same run breaks %s now; was the file altered, or made by another version?", c.Property, r.Violation.Property)
	}
	return nil
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

// newStory returns a story whose lists are empty, but are lists in JSON.
func newStory(property, message string) *Story {
	return &Story{
		Format: Format, Property: property, Message: message,
		Clients: []Client{}, Events: []Event{}, Operations: []Operation{}, Sessions: []Session{}, Znodes: []Znode{},
		Waits: []Wait{}, Curve: []Point{}, Commands: []Command{},
	}
}

// teller fills a story from a run.
type teller struct {
	story    *Story
	replayed *sim.Replayed
	record   *sim.Record

	sessions   map[int64]int // index by id
	operations map[int64]int // index by number
	missed     []Event       // the requests for znodes that were not there
}

func (t *teller) tell() {
	for i, users := range t.record.Users {
		t.story.Clients = append(t.story.Clients, Client{fmt.Sprintf("c%d", i+1), users})
	}
	t.tellSessions()
	t.tellOperations()
	t.tellZnodes()
	t.tellEvents()
	t.tellWaits()
	t.ask()
}

// tellSessions lists the sessions that clients got, with their ends at the servers and for the clients.
func (t *teller) tellSessions() {
	for _, of := range t.record.Sessions {
		t.sessions[of.ID] = len(t.story.Sessions)
		t.story.Sessions = append(t.story.Sessions, Session{
			ID: fmt.Sprintf("0x%x", of.ID), Name: fmt.Sprintf("s%d", len(t.story.Sessions)+1), Client: of.Client, End: -1, Learned: -1,
		})
	}
	for _, change := range t.record.Changes {
		i := t.session(change.Session)
		switch {
		case i < 0:
		case change.Op == fakezk.OpCreateSession:
			t.story.Sessions[i].Begin = int64(change.Step)
		case change.Op == fakezk.OpCloseSession:
			t.story.Sessions[i].End, t.story.Sessions[i].Expired = int64(change.Step), !t.closes(change)
		}
	}
}

// closes tells whether a session ended because its client asked for it.
func (t *teller) closes(end sim.Change) bool {
	return slices.ContainsFunc(t.replayed.Trace, func(s sim.Step) bool {
		return s.N == end.Step && s.Session == end.Session && s.Request == "close" && s.Lost == ""
	})
}

func (t *teller) session(id int64) int { return indexIn(t.sessions, id) }

func (t *teller) operation(number int64) int { return indexIn(t.operations, number) }

func indexIn(m map[int64]int, key int64) int {
	if i, known := m[key]; known && key != 0 {
		return i
	}
	return -1
}

func (t *teller) tellOperations() {
	for i, op := range t.record.Ops {
		t.operations[op.Number] = i
		o := Operation{
			Client: op.Client, User: op.User, Name: op.Name, Arg: op.Arg, Outcome: op.Outcome.String(),
			Call: int64(sim.StepOf(op.Call)), Return: -1,
		}
		if op.Return != 0 {
			o.Return = int64(sim.StepOf(op.Return))
		}
		if op.Outcome == sim.OK {
			o.Result = op.Result
		}
		if op.Err != nil {
			o.Error = op.Err.Error()
		}
		t.story.Operations = append(t.story.Operations, o)
	}
}

func (t *teller) tellZnodes() {
	at := map[string]int{}
	for _, change := range t.record.Changes {
		if change.Path == "" {
			continue
		}
		i, known := at[change.Path]
		if !known {
			i = len(t.story.Znodes)
			at[change.Path] = i
			t.story.Znodes = append(t.story.Znodes, Znode{Path: change.Path})
		}
		t.change(&t.story.Znodes[i], change)
	}
	slices.SortFunc(t.story.Znodes, func(a, b Znode) int { return cmp.Compare(a.Path, b.Path) })
	t.story.Root = commonRoot(t.story.Znodes)
	nameZnodes(t.story.Znodes)
}

func (t *teller) change(z *Znode, c sim.Change) {
	step, by := int64(c.Step), t.operation(c.By)
	if c.Op == fakezk.OpCreate {
		z.Lives = append(z.Lives, Life{From: step, Until: -1, Owner: t.session(c.Owner), Maker: by, Remover: -1})
		return
	}
	if len(z.Lives) == 0 {
		return // the root, which was there before
	}
	life := &z.Lives[len(z.Lives)-1]
	switch c.Op {
	case fakezk.OpSetData:
		life.Sets = append(life.Sets, step)
	case fakezk.OpDelete:
		life.Until, life.Remover = step, by
		s := life.Owner
		life.Expired = s >= 0 && t.story.Sessions[s].End == step && t.story.Sessions[s].Expired
	}
}

func (t *teller) tellWaits() {
	for _, w := range t.record.Waits {
		wait := Wait{Operation: t.operation(w.Op.Number), Session: t.session(w.Session), For: []Awaited{}}
		for _, watch := range w.Watches {
			wait.For = append(wait.For, Awaited{watch.Path, string(watch.Kind), watch.Exists, t.session(watch.Owner)})
		}
		t.story.Waits = append(t.story.Waits, wait)
	}
}
