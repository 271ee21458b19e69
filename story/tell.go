package story

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/world"
)

// fromReplay makes the story of a counterexample from its replay. The error is for a replay without a violation, or one
// that diverged from the file.
func fromReplay(c *replay.Counterexample, w world.Workload, r *replay.Replayed) (*Story, error) {
	if err := Same(c, r); err != nil {
		return nil, err
	}
	s := build(c, w, r, r.Violation)
	s.Title, s.Note = Headline(w, s.Property, s.Message), note(c)
	s.Workload, s.Recipe = c.Workload, c.Recipe
	return s, nil
}

// Headline says what broke: who, how and, in parentheses, which property. Below it is what the message has in further
// lines, such as the stack of a panic.
func Headline(w world.Workload, property, message string) string {
	sentence, more, several := strings.Cut(message, "\n")
	sentence, listed := strings.CutSuffix(sentence, ":")
	text := fmt.Sprintf("%s: %s (%s)", Subject(w), sentence, property)
	if listed {
		text += ":"
	}
	if several {
		text += "\n" + more
	}
	return text
}

// Subject names a recipe: by its Go type if it has no name, else by its kind and name.
func Subject(w world.Workload) string {
	if of, ok := w.(interface{ Type() string }); ok && of.Type() != "" {
		return of.Type()
	}
	return fmt.Sprintf("%s (%s)", w.Name(), w.Recipe())
}

// note says why the story may not be minimal, and why a run could be another one the next time.
func note(c *replay.Counterexample) string {
	var notes []string
	if c.Unfinished != "" {
		notes = append(notes, "it may not be minimal: "+c.Unfinished)
	}
	switch {
	case c.Divergence != nil:
		notes = append(notes, "not repeatable: "+c.Divergence.String())
	case c.Wire && !c.Exact:
		notes = append(notes, world.WireNote)
	}
	return strings.Join(notes, "; ")
}

// Same returns an error if a replay is not the run that its counterexample recorded, or did not break the same
// property. For a nondeterministic run the same property suffices.
func Same(c *replay.Counterexample, r *replay.Replayed) error {
	switch {
	case r.Diverged >= 0 && c.Divergence != nil && r.Violation != nil && r.Violation.Property == c.Property:
		return nil // broken, by different steps
	case r.Diverged >= 0:
		return fmt.Errorf("the run differs from the recorded one at line %d of the trace, in each of %d tries; "+
			"was the counterexample made by another version?\n  recorded: %s\n  now:      %s",
			r.Diverged+1, r.Try, lineAt(c.Trace, r.Diverged), lineAt(replay.Lines(r.Trace), r.Diverged))
	case r.Violation == nil:
		return fmt.Errorf("nothing broke this time, although the trace is the same")
	case r.Violation.Property != c.Property:
		return fmt.Errorf("the file says that %s is broken, but the same run breaks %s now; "+
			"was the file altered, or made by another version?", c.Property, r.Violation.Property)
	}
	return nil
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

// newStory returns a story with empty lists, which JSON shows as [], not null.
func newStory(property, message string) *Story {
	return &Story{
		Format: Format, Property: property, Message: message,
		Clients: []Client{}, Events: []Event{}, Operations: []Operation{}, Sessions: []Session{}, Znodes: []Znode{},
		Waits: []Wait{}, Curve: []Point{}, Commands: []Command{}, Sources: []Source{},
	}
}

// storyBuilder builds a story from a run.
type storyBuilder struct {
	story     *Story
	violation *world.Violation
	trace     []world.Step
	record    *world.Record

	sessions   map[int64]int // index by id
	operations map[int64]int // index by number
	missed     []Event       // requests for missing znodes
}

func build(c *replay.Counterexample, w world.Workload, r *replay.Replayed, v *world.Violation) *Story {
	s := newStory(v.Property, v.Message)
	s.Workload, s.Recipe, s.Subject = w.Name(), w.Recipe(), Subject(w)
	s.Clock, s.Servers, s.Faults, s.Struck = clockSteps, r.Record.Servers, c.Faults, r.Record.Struck.String()
	b := &storyBuilder{s, v, r.Trace, r.Record, map[int64]int{}, map[int64]int{}, nil}
	for i, users := range b.record.Users {
		s.Clients = append(s.Clients, Client{fmt.Sprintf("c%d", i+1), users})
	}
	b.tellSessions()
	b.tellOperations()
	b.tellZnodes()
	b.tellEvents()
	b.tellWaits()
	b.cite()
	b.addSources()
	s.Cycles = cycles(s.Events)
	if s.Cause, s.Help = (prose{s}).cause(); v.Help != "" {
		s.Help = &Help{Text: v.Help}
	}
	return s
}

// tellSessions lists the clients' sessions, with their ends at the servers and for the clients.
func (b *storyBuilder) tellSessions() {
	for _, of := range b.record.Sessions {
		b.sessions[of.ID] = len(b.story.Sessions)
		b.story.Sessions = append(b.story.Sessions, Session{
			ID: fmt.Sprintf("0x%x", of.ID), Name: fmt.Sprintf("s%d", len(b.story.Sessions)+1), Client: of.Client,
			End: -1, Learned: -1,
		})
	}
	for _, change := range b.record.Changes {
		i := b.session(change.Session)
		switch {
		case i < 0:
		case change.Op == wire.OpCreateSession:
			b.story.Sessions[i].Begin = int64(change.Step)
		case change.Op == wire.OpCloseSession:
			b.story.Sessions[i].End, b.story.Sessions[i].Expired = int64(change.Step), !b.closes(change)
		}
	}
}

// closes reports whether a session's client closed it.
func (b *storyBuilder) closes(end world.Change) bool {
	return slices.ContainsFunc(b.trace, func(s world.Step) bool {
		return s.N == end.Step && s.Session == end.Session && s.Request == "close" && s.Lost == ""
	})
}

func (b *storyBuilder) session(id int64) int { return indexIn(b.sessions, id) }

func (b *storyBuilder) operation(number int64) int { return indexIn(b.operations, number) }

func indexIn(m map[int64]int, key int64) int {
	if i, known := m[key]; known && key != 0 {
		return i
	}
	return -1
}

func (b *storyBuilder) tellOperations() {
	for i, op := range b.record.Ops {
		b.operations[op.Number] = i
		o := Operation{
			Client: op.Client, User: op.User, Name: op.Name, Arg: op.Arg, Outcome: op.Outcome.String(),
			Call: int64(world.StepOf(op.Call)), Return: -1,
		}
		if op.Return != 0 {
			o.Return = int64(world.StepOf(op.Return))
		}
		if grants := operations.Of(op.Name).Back != ""; op.Outcome == world.OK && !(grants && op.Result == "0") { // no token
			o.Result = op.Result
		}
		if op.Err != nil {
			o.Error = op.Err.Error()
		}
		o.Again = b.repeats(o)
		b.story.Operations = append(b.story.Operations, o)
	}
}

// repeats reports whether a user's operation before this one was the same and has failed: then its harness tries again.
func (b *storyBuilder) repeats(o Operation) bool {
	for _, before := range slices.Backward(b.story.Operations) {
		if before.Client == o.Client && before.User == o.User {
			return before.Name == o.Name && before.Arg == o.Arg && before.Outcome != world.OK.String()
		}
	}
	return false
}

func (b *storyBuilder) tellZnodes() {
	at := map[string]int{}
	for _, change := range b.record.Changes {
		if change.Path == "" {
			continue
		}
		i, known := at[change.Path]
		if !known {
			i = len(b.story.Znodes)
			at[change.Path] = i
			b.story.Znodes = append(b.story.Znodes, Znode{Path: change.Path})
		}
		b.change(&b.story.Znodes[i], change)
	}
	slices.SortFunc(b.story.Znodes, func(a, b Znode) int { return cmp.Compare(a.Path, b.Path) })
	b.story.Root = commonRoot(b.story.Znodes)
	nameZnodes(b.story.Znodes)
}

func (b *storyBuilder) change(z *Znode, c world.Change) {
	step, by := int64(c.Step), b.operation(c.By)
	if c.Op == wire.OpCreate {
		z.Lives = append(z.Lives, Life{From: step, Until: -1, Owner: b.session(c.Owner), Maker: by, Remover: -1,
			Data: []string{shown(c.Data)}})
		return
	}
	if len(z.Lives) == 0 {
		return // the root, which existed before
	}
	life := &z.Lives[len(z.Lives)-1]
	switch c.Op {
	case wire.OpSetData:
		life.Sets, life.Data = append(life.Sets, step), append(life.Data, shown(c.Data))
	case wire.OpDelete:
		life.Until, life.Remover = step, by
		s := life.Owner
		life.Expired = s >= 0 && b.story.Sessions[s].End == step && b.story.Sessions[s].Expired
	}
}

// shown is data as a word, or quoted. What is long is cut, between two characters, and says its size.
func shown(data []byte) string {
	const most = 24
	if len(data) <= most {
		if text := string(data); plainWord.MatchString(text) {
			return text
		}
		return strconv.Quote(string(data))
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(data[end]) {
		end--
	}
	return fmt.Sprintf("%q… (%d bytes)", data[:end], len(data))
}

var plainWord = regexp.MustCompile(`^[\w.:-]+$`)

func (b *storyBuilder) tellWaits() {
	for _, w := range b.record.Waits {
		wait := Wait{Operation: b.operation(w.Op.Number), Session: b.session(w.Session), For: []Awaited{}}
		for _, watch := range w.Watches {
			wait.For = append(wait.For, Awaited{watch.Path, string(watch.Kind), watch.Exists, b.session(watch.Owner)})
		}
		b.story.Waits = append(b.story.Waits, wait)
	}
}
