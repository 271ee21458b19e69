package conformance_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// player plays scripts on one side and writes down what happens.
type player struct {
	side     *side
	clients  []*actor // in the order of their first connect
	sessions map[int64]string
	watches  []*watch
	out      strings.Builder

	// The last command may have led to several events at once, which ZooKeeper sends in the order
	// of a hash table: those of a session that ends, or of watches that are set again.
	unordered bool
}

// actor is a client with its name in the script.
type actor struct {
	*client
	name       string
	showEvents bool
	severed    bool
	closed     bool
}

type watch struct {
	label string
	actor *actor
	ch    <-chan zk.Event
}

func newPlayer(s *side) *player { return &player{side: s, sessions: map[int64]string{}} }

// play plays a script and returns it with the outcomes that it has now.
// An error is the script's fault, or means that a side is out of order.
func (p *player) play(script string) (string, error) {
	p.out.Reset()
	lines := strings.Split(strings.TrimSuffix(script, "\n"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			continue // an outcome
		}
		p.out.WriteString(line + "\n")
		if !isCommand(line) {
			continue
		}
		if err := p.step(line, waitsNext(lines[i+1:])); err != nil {
			return p.out.String(), fmt.Errorf("line %d: %s: %w", i+1, line, err)
		}
	}
	return p.out.String(), nil
}

func isCommand(line string) bool {
	return line != "" && line[0] != '#' && !strings.HasPrefix(line, "  ")
}

// waitsNext reports whether the next command waits.
func waitsNext(lines []string) bool {
	i := slices.IndexFunc(lines, isCommand)
	if i < 0 {
		return false
	}
	words := strings.Fields(lines[i])
	return len(words) > 1 && words[1] == "wait"
}

func (p *player) say(format string, args ...any) { fmt.Fprintf(&p.out, "  "+format+"\n", args...) }

// step carries out a command and shows what came of it; but for events that a command after it waits for, and which may
// come at any time from now on.
func (p *player) step(line string, wait bool) error {
	words, err := split(line)
	if err != nil {
		return err
	}
	if err := p.command(words); err != nil || wait {
		return err
	}
	return p.settle()
}

func (p *player) command(words []string) error {
	if words[0] == "connect" {
		return p.connect(words[1:])
	}
	a := p.find(words[0])
	switch {
	case a == nil || a.closed:
		return fmt.Errorf("%q is neither a command nor a client that is open", words[0])
	case len(words) < 2:
		return fmt.Errorf("nothing to do for %s", a.name)
	case a.severed && words[1] != "heal":
		return fmt.Errorf("%s is cut, it would wait for ever", a.name)
	}
	p.unordered = slices.Contains([]string{"close", "heal", "wait"}, words[1])
	return p.act(a, words[1], words[2:])
}

func (p *player) find(name string) *actor {
	for _, a := range p.clients {
		if a.name == name {
			return a
		}
	}
	return nil
}

func (p *player) connect(words []string) error {
	if len(words) == 0 || p.find(words[0]) != nil {
		return fmt.Errorf("a new name is needed: %q", words)
	}
	a := &actor{name: words[0]}
	timeout := lasting
	for _, word := range words[1:] {
		switch value, isTimeout := strings.CutPrefix(word, "timeout="); {
		case isTimeout:
			var err error
			if timeout, err = time.ParseDuration(value); err != nil {
				return err
			}
		case word == "events":
			a.showEvents = true
		default:
			return fmt.Errorf("%q is neither timeout=… nor events", word)
		}
	}
	var err error
	if a.client, err = p.side.connect(timeout); err != nil {
		return err
	}
	p.clients = append(p.clients, a)
	p.sessions[a.SessionID()] = a.name
	return nil
}

// settle waits for the events that the last command caused, and shows them: every client asks
// something, and the answer comes after the events.
func (p *player) settle() error {
	for _, a := range p.clients {
		if a.closed || a.severed {
			continue
		}
		if _, _, err := a.Exists("/"); err != nil {
			return fmt.Errorf("%s does not answer: %w", a.name, err)
		}
	}
	p.showWatches()
	for _, a := range p.clients {
		if !a.closed {
			p.showEvents(a)
		}
	}
	return nil
}

func (p *player) showWatches() {
	waiting := p.watches[:0]
	for _, w := range p.watches {
		select {
		case event, ok := <-w.ch:
			p.showFired(w, event, ok)
		default:
			waiting = append(waiting, w)
		}
	}
	p.watches = waiting
}

func (p *player) showFired(w *watch, event zk.Event, ok bool) {
	if !ok {
		p.say("%s: closed without an event", w.label)
		return
	}
	remark := ""
	select {
	case another, more := <-w.ch:
		if more {
			remark = ", then " + showEvent(another)
		}
	default:
		remark = ", still open"
	}
	p.say("%s: %s%s", w.label, showEvent(event), remark)
}

// showEvents shows what the event channel of a client holds, and forgets it.
func (p *player) showEvents(a *actor) {
	p.showChannel(a, func() (event zk.Event, more bool) {
		select {
		case event, more = <-a.events:
		default:
		}
		return event, more
	})
}

// showChannel shows the events of a client that next returns.
func (p *player) showChannel(a *actor, next func() (event zk.Event, more bool)) {
	var shown []string
	for event, more := next(); more; event, more = next() {
		if a.showEvents && !isLuck(event) {
			shown = append(shown, showEvent(event))
		}
	}
	if p.unordered {
		slices.Sort(shown)
	}
	for _, event := range shown {
		p.say("%s: %s", a.name, event)
	}
}

// isLuck tells which events are as many as there were attempts to connect.
func isLuck(e zk.Event) bool {
	return e.Type == zk.EventSession && (e.State == zk.StateConnecting || e.State == zk.StateConnected)
}

// close waits for the end of the event channel, after which nothing of the client happens.
func (p *player) close(a *actor) error {
	a.Close()
	a.closed = true
	open := true
	deadline := time.After(patience)
	p.showChannel(a, func() (event zk.Event, more bool) {
		select {
		case event, open = <-a.events:
		case <-deadline:
			return event, false
		}
		return event, open
	})
	if open {
		return fmt.Errorf("the event channel of %s is still open", a.name)
	}
	return nil
}

func (p *player) heal(a *actor) error {
	watches := 0
	for _, w := range p.watches {
		if w.actor == a {
			watches++
		}
	}
	if err := a.heal(watches); err != nil {
		return err
	}
	a.severed = false
	if name, ok := p.sessions[a.SessionID()]; ok {
		p.say("session of %s", name)
		return nil
	}
	p.say("a new session")
	p.sessions[a.SessionID()] = a.name + "'"
	return nil
}

// split takes a line apart at spaces; a word, or what follows = in it, may be a Go string.
func split(line string) ([]string, error) {
	var words []string
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			words, line = append(words, word), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return nil, fmt.Errorf("%s: not a Go string: %w", line, err)
		}
		words, line = append(words, quoted), line[len(quoted):]
	}
	return words, nil
}
