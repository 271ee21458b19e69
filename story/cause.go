package story

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim/world"
)

// Cause is why a property broke, as far as the events show it: for some steps the world is not what a client takes it
// for. A fault that strikes in a minimised run is needed, so what is lost with it is a cause; so is a decision about
// what has changed since it was read.
type Cause struct {
	Mechanism Mechanism `json:"mechanism"`
	From      int64     `json:"from"`  // the step from which on the client is wrong …
	To        int64     `json:"to"`    // … and the one at which it acts, or learns better
	Event     int       `json:"event"` // the request that decides, with its line of code; -1: none
	Text      string    `json:"text"`  // in a sentence; empty if there is nothing to say
}

// shows reports whether there is a cause with steps to look at.
func (c *Cause) shows() bool { return c != nil && (c.Event >= 0 || c.Text != "") }

// Mechanism names a way in which recipes break.
type Mechanism string

// The mechanisms.
const (
	staleRead   Mechanism = "stale-read"     // what a client has read changes before its next request arrives
	staleServer Mechanism = "stale-server"   // the server that answers has not applied a change
	lostReply   Mechanism = "lost-reply"     // a request was carried out, and its client does not know
	lostRequest Mechanism = "lost-request"   // a request was not carried out, and its client cannot know
	lostEvent   Mechanism = "lost-event"     // a watch has fired, and its client does not know
	expiry      Mechanism = "expiry"         // a session has ended, and its client does not know
	wrap        Mechanism = "wrap"           // the numbers of sequential znodes pass the greatest
	livelock    Mechanism = "livelock"       // the same happens again and again
	otherFault  Mechanism = "fault"          // what another fault does
	foreign     Mechanism = "foreign-delete" // a client deletes the ephemeral znode of another
	missed      Mechanism = "missed-delete"  // a delete finds nothing, and its client goes on as if it had deleted
	misread     Mechanism = "misread-order"  // a client goes ahead of one that its own list has before it
	oldSession  Mechanism = "old-session"    // a client takes the ephemeral znode of its old session for its own
	callsAlone  Mechanism = "calls"          // none of these: the calls do it, in this order
)

// cause finds why a simulated run broke. Of several causes it is the one that says most about what the verdict names.
func (s prose) cause() *Cause {
	if s.Clock != clockSteps || len(s.Events) == 0 {
		return nil
	}
	best, most := s.ofRest(), 0
	if strings.Contains(s.Message, "\n") {
		best.Event = -1 // the code is in the message: the stack of a panic, or of what is left
		return best
	}
	end, livelocked := s.end(), best.Mechanism == livelock
	for i := range s.Events {
		for _, c := range []*Cause{s.ofFault(i), s.ofServer(i), s.ofRead(i), s.ofAnswer(i)} {
			common := c != nil && !slices.Contains([]Mechanism{lostReply, lostRequest, lostEvent, expiry}, c.Mechanism)
			if c == nil || common && (c.From > end || !helps(s.Property, c.Mechanism)) { // every run has such answers
				continue
			}
			if weight := s.weight(i, c.Mechanism); weight >= most {
				best, most = c, weight
			}
		}
	}
	if livelocked {
		last := s.Cycles[len(s.Cycles)-1]
		repeated := s.Events[last.Event:][:last.Length]
		if !slices.ContainsFunc(repeated, func(e Event) bool { return e.Kind == kindTime }) { // whatever led to it, it has to wait
			sends := slices.IndexFunc(repeated, func(e Event) bool { return e.Code != "" })
			best.Mechanism, best.Event = livelock, last.Event+max(0, sends)
		}
	}
	return best
}

// weight is how much a cause says that begins with an event.
func (s prose) weight(i int, m Mechanism) int {
	weight, known := map[Mechanism]int{staleServer: 6, foreign: 6, oldSession: 6, staleRead: 3, missed: 0, misread: 0}[m]
	if !known {
		weight = 4
	}
	if s.aboutCited(s.Events[i]) {
		weight += 2
	}
	return weight
}

// aboutCited reports whether an event is about a znode, or of an operation, that the verdict names.
func (s prose) aboutCited(e Event) bool {
	return e.Operation >= 0 && s.Operations[e.Operation].Cited || slices.ContainsFunc(s.Znodes, func(z Znode) bool {
		return z.Cited && (z.Path == e.Path || e.What == "children" && path.Dir(z.Path) == e.Path)
	})
}

// Properties that break by what does not happen, and by what is left.
var (
	stuck    = []string{"progress", "lost-wakeup", "deadlock", "self-block", "idle", "hang"}
	leftover = []string{"orphan", "leak", "self-block", "idle"}
)

// ofCalls is the cause where nothing else is seen: the request that has made what the verdict names and what is left, or
// the last of the operation that has gone wrong, which is a read if that goes on with what was true once.
func (s prose) ofCalls() *Cause {
	c := &Cause{Mechanism: callsAlone, Event: -1}
	wrong, behind := s.wrong(), slices.Contains([]string{"deaf", "diverged"}, s.Property)
	for i, e := range s.Events {
		of := (wrong < 0 || e.Operation == wrong) && !(behind && slices.Contains(writes, e.What))
		if e.Code != "" && (of && !s.leaves(c.Event) || s.leaves(i)) {
			c.Event, c.From, c.To = i, e.Step, e.Step
		}
	}
	return c
}

// ofRest is the cause where no client is wrong: what another fault does, or what the calls do.
func (s prose) ofRest() *Cause {
	c := s.ofCalls()
	struck, _ := world.ParseFaults(s.Struck)
	switch last := s.lastFault(); {
	case len(s.Cycles) > 0 && slices.Contains(stuck, s.Property):
		c.Mechanism, c.Text = livelock, ""
	case struck.Has(world.Wrap):
		c.Mechanism = wrap
		c.Text = "the numbers of sequential znodes pass 2147483647: the newest are negative"
	case last >= 0:
		at := s.Events[last].Step
		c.Mechanism, c.From, c.To, c.Text = otherFault, min(at, c.From), max(at, c.To), s.line(s.Events[last])
	case struck == world.NoFaults && len(s.Clients) == 1 && s.Clients[0].Users == 1:
		c.Text = "the calls alone: no fault struck, and there is no other client"
	}
	return c
}

// lastFault is the last fault, -1 if there is none.
func (s prose) lastFault() int {
	for i, e := range slices.Backward(s.Events) {
		if e.Kind == kindFault {
			return i
		}
	}
	return -1
}

// wrong is the operation that has gone wrong: of those that the verdict names one that waits for ever, or the last to
// return; -1 if it names none.
func (s prose) wrong() int {
	if len(s.Waits) > 0 && slices.Contains(stuck, s.Property) {
		return s.Waits[0].Operation
	}
	wrong := -1
	for i, o := range s.Operations {
		if o.Cited && (wrong < 0 || o.Return >= s.Operations[wrong].Return) {
			wrong = i
		}
	}
	return wrong
}

// end is the step after which no answer can be the cause: the operation that has gone wrong has returned.
func (s prose) end() int64 {
	wrong := s.wrong()
	if wrong < 0 || s.Operations[wrong].Return < 0 || slices.Contains(stuck, s.Property) || slices.Contains(leftover, s.Property) {
		return math.MaxInt64
	}
	return s.Operations[wrong].Return
}

// leaves reports whether an event has made what the verdict names and what nobody deletes.
func (s prose) leaves(event int) bool {
	return event >= 0 && slices.Contains(leftover, s.Property) && slices.ContainsFunc(s.Znodes, func(z Znode) bool {
		if !z.Cited || len(z.Lives) == 0 || s.Events[event].Code == "" {
			return false
		}
		last := z.Lives[len(z.Lives)-1]
		return last.Until < 0 && last.From == s.Events[event].Step
	})
}

// ofFault is the cause that begins with a fault: what is lost with it, until the client sends something else or learns of
// it.
func (s prose) ofFault(i int) *Cause {
	e := s.Events[i]
	if e.Kind != kindFault || e.Client < 0 {
		return nil
	}
	c := &Cause{From: e.Step, To: s.nextOf(i), Event: s.sentBefore(i)}
	who := s.Clients[e.Client].Name
	lost := world.Lost(e.Lost)
	if (lost == world.LostReply || lost == world.LostRequest) && !slices.Contains(writes, e.Subject) {
		return nil // a read that is lost leaves nothing
	}
	switch lost {
	case world.LostReply:
		c.Mechanism, c.Text = lostReply, fmt.Sprintf("%s was carried out; its reply to %s was lost", join(e.Subject, s.short(e.Path)), who)
	case world.LostRequest:
		c.Mechanism = lostRequest
		c.Text = fmt.Sprintf("%s never reached the servers; %s cannot know that", join(e.Subject, s.short(e.Path)), who)
	case world.LostEvent:
		c.Mechanism, c.Text = lostEvent, fmt.Sprintf("the event of a watch of %s was lost", who)
	default:
		if c.Mechanism, c.Text = expiry, s.whyExpiry(e, who); c.Text == "" {
			return nil
		}
	}
	return c
}

// writes are the requests that leave something behind.
var writes = []string{"create", "delete", "set", "multi", "setACL"}

// sentBefore is what a fault is about: the request that is lost, else the client's last, or what it believes to be.
func (s prose) sentBefore(i int) int {
	of, last := s.Events[i], -1
	if of.Code != "" {
		return i
	}
	for j, e := range slices.Backward(s.Events[:i]) {
		if e.Client != of.Client || e.Code == "" || e.Kind == kindCall && s.Property != "belief" || of.User >= 0 && e.User != of.User {
			continue
		}
		if of.Subject == "" || e.What == of.Subject && e.Path == of.Path {
			return j
		}
		if last < 0 {
			last = j
		}
	}
	return last
}

// nextOf is the step at which a client sends its next request after an event, or learns that its session has ended; the
// last step of all if it does neither.
func (s prose) nextOf(i int) int64 {
	of := s.Events[i]
	for _, e := range s.Events[i+1:] {
		next := e.Kind == kindRequest || e.Kind == kindExchange || e.Kind == kindLearns
		if e.Client == of.Client && next && e.Step > of.Step {
			return e.Step
		}
	}
	return s.Events[len(s.Events)-1].Step
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

// ofServer is the cause of an answer in which a znode of the verdict is missing that exists: its server is behind.
func (s prose) ofServer(i int) *Cause {
	e := s.Events[i]
	if e.Answer == "" || e.Client < 0 || !strings.HasPrefix(e.What, "children") {
		return nil
	}
	for _, z := range s.Znodes {
		for _, l := range z.Lives {
			there := l.From < e.Step && (l.Until < 0 || e.Step <= l.Until)
			if z.Cited && there && path.Dir(z.Path) == e.Path && !strings.Contains(e.Answer, path.Base(z.Path)) {
				return &Cause{staleServer, l.From, e.Step, i,
					fmt.Sprintf("server %d is behind: it has not applied step %d, which made %s", e.Server, l.From, z.Name)}
			}
		}
	}
	return nil
}

// ofAnswer is the cause that is a request which should not have been made, or an answer which is not heeded.
func (s prose) ofAnswer(i int) *Cause {
	e := s.Events[i]
	if e.Code == "" || e.Client < 0 {
		return nil
	}
	c, who := &Cause{Mechanism: callsAlone, From: e.Step, To: e.Step, Event: i}, s.user(e.Client, max(e.User, 0))
	if e.What == "delete" && e.Operation == s.wrong() && e.Answer == "= "+reason(wire.CodeNoNode) {
		c.Mechanism, c.Text = missed, fmt.Sprintf("%s goes on as if it had deleted %s, which was gone", who, s.short(e.Path))
	}
	for _, z := range s.Znodes {
		for _, l := range z.Lives {
			if e.What == "delete" && z.Path == e.Path && l.Until == e.Step && l.Owner >= 0 && s.Sessions[l.Owner].Client != e.Client {
				c.Mechanism, c.Text = foreign, fmt.Sprintf("%s deletes %s of %s", who, z.Name, s.Sessions[l.Owner].Name)
			}
			if e.What == "create" && e.Answer == exists && z.Path == e.Path && l.From < e.Step && (l.Until < 0 || e.Step <= l.Until) &&
				l.Owner >= 0 && l.Owner != e.Session && s.Sessions[l.Owner].Client == e.Client {
				c.Mechanism, c.Text = oldSession, fmt.Sprintf("%s takes %s of %s, its old session, for its own", who, z.Name, s.Sessions[l.Owner].Name)
			}
		}
	}
	for _, name := range strings.Fields(strings.Trim(e.Answer, "= []")) {
		n := sequential.FindString(name)
		if n == "" || e.Operation != s.wrong() || strings.Contains(s.Message, "permit") {
			continue
		}
		if i := slices.IndexFunc(s.Events, func(own Event) bool {
			return own.Operation == e.Operation && path.Dir(own.Made) == e.Path && n < sequential.FindString(own.Made)
		}); i >= 0 && !s.looksOn(e, s.Events[i].Made) {
			c.Mechanism, c.Text = misread, fmt.Sprintf("%s goes ahead although %s is before %s", who, s.shortBelow(e.Path, name), s.short(s.Events[i].Made))
		}
	}
	return c
}

// looksOn reports whether the operation of a list asks for another's znode in it after that: then the list does not decide.
func (s prose) looksOn(list Event, own string) bool {
	return slices.ContainsFunc(s.Events, func(e Event) bool {
		return e.Operation == list.Operation && e.Step > list.Step && e.Code != "" && path.Dir(e.Path) == list.Path && e.Path != own
	})
}

// gap is a decision that is outdated: what a client has read changes before its next request arrives.
type gap struct {
	read    Event
	next    int   // event; -1: its operation sends no other request
	changed int64 // step
	znode   Znode
}

// ofRead is the cause that begins with a read.
func (s prose) ofRead(i int) *Cause {
	g, found := s.gap(i)
	if !found || !g.znode.Cited {
		return nil
	}
	c := &Cause{staleRead, g.read.Step, s.Events[len(s.Events)-1].Step, i, s.tellGap(g)}
	o := s.Operations[g.read.Operation]
	switch {
	case g.next >= 0:
		c.To, c.Event = s.Events[g.next].Step, g.next
	case o.Return >= 0 && o.Return <= g.changed:
		return nil // it was true until the operation had returned
	case o.Return >= 0:
		c.To = o.Return
	}
	return c
}

// reads reports whether an event is an answer that tells what is there, and leaves no watch.
func (e Event) reads() bool {
	answered := e.Kind == kindExchange || e.Kind == kindReply
	return answered && (slices.Contains([]string{"exists", "get", "children"}, e.What) || e.What == "create" && e.Answer == exists)
}

// exists is the answer to a create of what is there.
var exists = "= " + reason(wire.CodeNodeExists)

// gap finds the first change of what a read has answered, up to the next request of the same operation.
func (s prose) gap(read int) (g gap, found bool) {
	g.read, g.next = s.Events[read], -1
	if !g.read.reads() || g.read.Operation < 0 {
		return g, false
	}
	for i, e := range s.Events[read+1:] {
		if e.Operation == g.read.Operation && (e.Kind == kindExchange || e.Kind == kindRequest) {
			g.next = read + 1 + i
			break
		}
	}
	for _, z := range s.Znodes {
		if at := s.changes(z, g); at > 0 && (!found || z.Cited && !g.znode.Cited) {
			g.znode, g.changed, found = z, at, true
		}
	}
	return g, found
}

// changes returns the first step in a gap at which a znode changes in a way that the read would have shown, 0 if there
// is none.
func (s prose) changes(z Znode, g gap) int64 {
	children := g.read.What == "children"
	if children && path.Dir(z.Path) != g.read.Path || !children && z.Path != g.read.Path {
		return 0
	}
	var steps []int64
	for _, l := range z.Lives {
		if steps = append(steps, l.Until); !children || !sequential.MatchString(z.Path) {
			steps = append(steps, l.From) // who comes later in a queue changes nothing for those in it
		}
		if !children {
			steps = append(steps, l.Sets...)
		}
	}
	steps = slices.DeleteFunc(steps, func(at int64) bool {
		return at <= g.read.Step || g.next >= 0 && at >= s.Events[g.next].Step
	})
	if len(steps) == 0 {
		return 0
	}
	return slices.Min(steps)
}

// sequential matches a name that ends with a number of the servers'.
var sequential = regexp.MustCompile(`\d{10}$`)

func (s prose) tellGap(g gap) string {
	who := s.user(g.read.Client, max(g.read.User, 0))
	text := fmt.Sprintf("%s acts on a stale read: %s at step %d, then %s at step %d", who,
		join(g.read.What, s.short(g.read.Path)), g.read.Step, s.happened(g.changed), g.changed)
	if g.next < 0 {
		return text
	}
	return text + fmt.Sprintf("; its next request arrives at step %d", s.Events[g.next].Step)
}
