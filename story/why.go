package story

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim/world"
)

// why says in a sentence how a step leads to the violation: what a fault takes with it, which server is behind, or
// whose decision is outdated. It is empty if none of these is seen.
func (s prose) why(step int64) string {
	for _, e := range s.Events {
		if e.Step != step {
			continue
		}
		if text := cmp.Or(s.whyFault(e), s.whyBehind(e)); text != "" {
			return text
		}
	}
	return s.whyOutdated(step)
}

// whyFault says what a fault does beyond its name.
func (s prose) whyFault(e Event) string {
	if e.Kind != kindFault || e.Client < 0 {
		return ""
	}
	who := s.Clients[e.Client].Name
	switch world.Lost(e.Lost) {
	case world.LostReply:
		return fmt.Sprintf("%s was carried out; its reply to %s was lost", s.subject(e), who)
	case world.LostRequest:
		return fmt.Sprintf("%s never reached the servers; %s cannot know that", s.subject(e), who)
	case world.LostEvent:
		return fmt.Sprintf("the event of a watch of %s was lost", who)
	}
	return s.whyExpiry(e, who)
}

func (s prose) subject(e Event) string { return join(e.Subject, s.short(e.Path)) }

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

// whyBehind names a znode in question that exists and is missing in the answer to a client: its server is behind.
func (s prose) whyBehind(e Event) string {
	if e.Answer == "" || e.Client < 0 || !strings.HasPrefix(e.What, "children") {
		return ""
	}
	for _, z := range s.Znodes {
		for _, l := range z.Lives {
			there := l.From < e.Step && (l.Until < 0 || e.Step <= l.Until)
			if z.Cited && there && path.Dir(z.Path) == e.Path && !strings.Contains(e.Answer, lastPart(z.Path)) {
				return fmt.Sprintf("server %d is behind: it has not applied step %d, which made %s", e.Server, l.From, z.Name)
			}
		}
	}
	return ""
}

// gap is a decision that is outdated: what a client has read changes before its next request arrives.
type gap struct {
	read, next Event // next has no kind if there is none
	changed    int64 // step
	znode      Znode
}

// whyOutdated names a decision that a step lets become outdated: of several one that is about the znodes in question, and
// of these the shortest.
func (s prose) whyOutdated(step int64) string {
	best := gap{}
	for i, e := range s.Events {
		if !e.reads() || e.Step > step {
			continue
		}
		if g, found := s.gap(i); found && g.until() >= step && (best.read.Kind == "" || g.before(best)) {
			best = g
		}
	}
	if best.read.Kind == "" {
		return ""
	}
	return s.tellGap(best)
}

// reads reports whether an event is the answer to a read that leaves no watch.
func (e Event) reads() bool {
	return (e.Kind == kindExchange || e.Kind == kindReply) && slices.Contains([]string{"exists", "get", "children"}, e.What)
}

// gap finds the first change of what a read has answered, up to the next request of the same user.
func (s prose) gap(read int) (g gap, found bool) {
	g.read = s.Events[read]
	for _, e := range s.Events[read+1:] {
		if e.Client == g.read.Client && e.User == g.read.User && (e.Kind == kindExchange || e.Kind == kindRequest) {
			g.next = e
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
		steps = append(steps, l.From, l.Until)
		if !children {
			steps = append(steps, l.Sets...)
		}
	}
	steps = slices.DeleteFunc(steps, func(at int64) bool {
		return at <= g.read.Step || g.next.Kind != "" && at >= g.next.Step
	})
	if len(steps) == 0 {
		return 0
	}
	return slices.Min(steps)
}

// until is the last step of the gap.
func (g gap) until() int64 {
	if g.next.Kind == "" {
		return 1 << 62
	}
	return g.next.Step
}

// before reports whether a gap says more than another.
func (g gap) before(other gap) bool {
	if g.znode.Cited != other.znode.Cited {
		return g.znode.Cited
	}
	return g.until()-g.read.Step < other.until()-other.read.Step
}

func (s prose) tellGap(g gap) string {
	who := s.user(g.read.Client, max(g.read.User, 0))
	text := fmt.Sprintf("%s acts on a stale read: %s at step %d, then %s at step %d", who,
		join(g.read.What, s.short(g.read.Path)), g.read.Step, s.happened(g.changed), g.changed)
	if g.next.Kind == "" {
		return text + "; it sends no other request"
	}
	return text + fmt.Sprintf("; its next request arrives at step %d", g.next.Step)
}
