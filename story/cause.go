package story

import (
	"fmt"
	"slices"
	"strings"
)

// Cause is why a property broke, as far as the run shows it: what one of [rules] has found, else what is known of a request or a
// session that was lost.
type Cause struct {
	Mechanism Mechanism `json:"mechanism,omitempty"` // empty: no rule has found it
	From      int64     `json:"from"`                // the step from which on the client is wrong …
	To        int64     `json:"to"`                  // … and the one at which it acts, or learns better
	Read      int       `json:"read"`                // the request by which the client knew, with its line of code; -1: none
	Event     int       `json:"event"`               // the request that decides, with its line of code; -1: none
	Text      string    `json:"text"`                // in a sentence; empty if there is nothing to say
}

// shows reports whether there is a cause with steps to look at.
func (c *Cause) shows() bool { return c != nil && (c.Event >= 0 || c.Text != "") }

// cause finds why a simulated run broke, and what to do about it.
func (s prose) cause() (*Cause, *Help) {
	if s.Clock != clockSteps || len(s.Events) == 0 {
		return nil, nil
	}
	x := evidence{s}
	if strings.Contains(s.Message, "\n") { // the code is in the message: the stack of a panic, or of what is left
		return &Cause{Read: -1, Event: -1}, nil
	}
	for _, r := range rules {
		if len(r.breaks) > 0 && !x.breaks(r.breaks...) || len(r.kinds) > 0 && !x.of(r.kinds...) {
			continue
		}
		if c := r.shown(x); c != nil {
			c.Mechanism = r.mechanism
			return c, &Help{r.help, r.page}
		}
	}
	return x.unexplained(), nil
}

// unexplained is the cause that no rule has found: what refuses a client that asks again and again, or what a fault has taken
// without the client's knowledge.
func (x evidence) unexplained() *Cause {
	c := &Cause{Read: -1, Event: -1}
	left, is := x.left()
	switch {
	case is && x.blocker() >= 0 && left.Maker >= 0:
		c = x.because(-1, x.blocker(), "%s", x.over(left))
	case is && x.maker(left) >= 0 && x.breaks("orphan", "leak"):
		c = x.because(-1, x.maker(left), "")
	}
	if c.Text != "" {
		return c
	}
	for i, e := range slices.Backward(x.Events) {
		if e.Client < 0 || !x.relevant(e) || x.breaks("deaf", "diverged", "backward", "stale-watch") {
			continue
		}
		who := x.Clients[e.Client].Name
		switch {
		case e.sent() && x.replyLost(i):
			return x.because(-1, i, "%s was carried out; its reply to %s was lost", x.told(i), who)
		case e.sent() && e.requestLost() && e.writes():
			return x.because(-1, i, "%s never reached the servers; %s cannot know that", x.told(i), who)
		}
	}
	for _, z := range x.Sessions {
		if z.Expired && slices.ContainsFunc(x.cited(), func(op int) bool { return x.Operations[op].Client == z.Client }) {
			d := x.expired(z)
			d.Event = c.Event
			return d
		}
	}
	if c.Text == "" && !x.of(builtIn...) { // what the property means only its kind knows, but not how it came about
		for _, shown := range []func(evidence) *Cause{evidence.checkThenAct, evidence.existsMeanwhile, evidence.doneTwice} {
			if d := shown(x); d != nil {
				return d
			}
		}
	}
	if x.calm() && len(x.Clients) == 1 && x.Clients[0].Users == 1 {
		c.Text = "the calls alone: no fault struck, and there is no other client"
	}
	return c
}

// whyExpiry names what ends with a session.
func (s prose) whyExpiry(e Event, who string) string {
	i := slices.IndexFunc(s.Sessions, func(z Session) bool { return z.End == e.Step && z.Client == e.Client && z.Expired })
	if i < 0 {
		return ""
	}
	var gone []string
	for _, z := range s.Znodes {
		if slices.ContainsFunc(z.Lives, func(l Life) bool { return l.Owner == i && l.Until == e.Step }) {
			gone = append(gone, z.Name)
		}
	}
	text := fmt.Sprintf("%s ended at the servers", s.Sessions[i].Name)
	if len(gone) > 0 {
		text += ", together with " + strings.Join(gone, ", ")
	}
	if learned := s.Sessions[i].Learned; learned > e.Step {
		return fmt.Sprintf("%s; %s learns that at step %d", text, who, learned)
	} else if learned < 0 {
		return text + "; " + who + " never learns that"
	}
	return text
}
