package story

import (
	"encoding/json"
	"fmt"
	"io"
)

// Read reads a story that was written as JSON. What the text and the page rely on is checked: every index is of something.
func Read(r io.Reader) (*Story, error) {
	s := new(Story)
	if err := json.NewDecoder(r).Decode(s); err != nil {
		return nil, fmt.Errorf("not a story, or cut off: %w", err)
	}
	if s.Format != Format {
		return nil, fmt.Errorf("its format is %q, and this version reads %q", s.Format, Format)
	}
	return s, check(s)
}

// check says which reference of a story leads nowhere.
func check(s *Story) error {
	clients, operations, sessions, events := len(s.Clients), len(s.Operations), len(s.Sessions), len(s.Events)
	c := checker{}
	for i, e := range s.Events {
		what := fmt.Sprintf("event %d", i)
		c.index(what, "client", e.Client, -1, clients)
		c.index(what, "operation", e.Operation, opens(e), operations)
		c.index(what, "session", e.Session, sessionOf(e), sessions)
		c.index(what, "from", e.From, -1, events)
		c.index(what, "armed", e.Armed, -1, events)
		c.index(what, "server", e.Server, -1, max(s.Servers, 1))
	}
	for i, o := range s.Operations {
		c.index(fmt.Sprintf("operation %d", i), "client", o.Client, 0, clients)
	}
	for i, z := range s.Sessions {
		c.index(fmt.Sprintf("session %d", i), "client", z.Client, 0, clients)
	}
	for i, w := range s.Waits {
		c.index(fmt.Sprintf("wait %d", i), "operation", w.Operation, 0, operations)
		c.index(fmt.Sprintf("wait %d", i), "session", w.Session, -1, sessions)
		for _, a := range w.For {
			c.index(fmt.Sprintf("wait %d", i), "owner", a.Owner, -1, sessions)
		}
	}
	for _, z := range s.Znodes {
		for _, l := range z.Lives {
			c.index(z.Path, "owner", l.Owner, -1, sessions)
			c.index(z.Path, "maker", l.Maker, -1, operations)
			c.index(z.Path, "remover", l.Remover, -1, operations)
		}
	}
	if s.Cause != nil {
		c.index("the cause", "read", s.Cause.Read, -1, events)
		c.index("the cause", "event", s.Cause.Event, -1, events)
	}
	for _, z := range s.Sources {
		c.index(z.At, "marked line", z.Marked, 0, len(z.Lines))
	}
	c.cycles(s)
	if s.Pivot != nil && len(s.Curve) == 0 {
		return fmt.Errorf("not a whole story: it has a pivot but no curve")
	}
	return c.err
}

// opens is the least operation of an event: a call or return has one.
func opens(e Event) int {
	if e.Kind == "call" || e.Kind == "return" {
		return 0
	}
	return -1
}

// sessionOf is the least session of an event: the begin and the end of one has it.
func sessionOf(e Event) int {
	switch e.Kind {
	case "begins", "resumes", "learns", "ends":
		return 0
	}
	return -1
}

// checker keeps the first reference that leads nowhere.
type checker struct{ err error }

func (c *checker) index(of, name string, i, least, below int) {
	if c.err == nil && (i < least || i >= below) {
		c.err = fmt.Errorf("not a whole story: the %s of %s is %d, which there is not", name, of, i)
	}
}

// cycles checks that what repeats is there, in order.
func (c *checker) cycles(s *Story) {
	end := 0
	for _, z := range s.Cycles {
		if z.Event < end || z.Length < 1 || z.Times < 1 || z.Times > len(s.Events) || z.Event+z.Length*z.Times > len(s.Events) {
			c.err = fmt.Errorf("not a whole story: a cycle at event %d of %d leads nowhere", z.Event, len(s.Events))
			return
		}
		end = z.Event + z.Length*z.Times
	}
}
