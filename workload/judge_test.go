package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// scene is an episode put together by hand, for what a judge must and must not say. Stamps are
// small numbers.
type scene struct {
	ops     []*world.Op
	waiting []*world.Op
	ends    map[int64]int64 // sessions
	gone    map[int64]int64 // since when, if that is another moment
	crashes map[int]int64   // first lives of clients
}

func (s *scene) view() *View {
	return &View{World: &seenWorld{scene: s, faulty: true}, Left: Leftovers{Path: "/t/x"}, Ops: s.ops,
		Waiting: s.waiting}
}

// seenWorld is the least that a world may know: what the clients have seen, and when sessions and processes ended.
type seenWorld struct {
	*scene
	faulty bool
}

func (w *seenWorld) Faulty() bool                                 { return w.faulty }
func (w *seenWorld) FaultFree(int64, int64) (time.Duration, bool) { return 0, false }
func (w *seenWorld) CutOff(int, int64, int64) bool                { return true }
func (w *seenWorld) Moment(stamp int64) string                    { return fmt.Sprintf("%d ns", stamp) }
func (w *seenWorld) Span(from, to int64) string                   { return fmt.Sprintf("%d to %d ns", from, to) }
func (w *seenWorld) Beliefs() bool                                { return false }
func (w *seenWorld) Changes() ([]world.Change, bool)              { return nil, false }
func (w *seenWorld) Herds() ([]world.Herd, bool)                  { return nil, false }
func (w *seenWorld) Resolved([]*world.Op) map[int64]Resolved      { return nil }
func (w *seenWorld) Explain(op *world.Op) world.Sentence {
	return world.Say("%s still waits in %s", Who(op), op.Name)
}
func (w *seenWorld) Remains(*world.Op) bool { return false }

func (w *seenWorld) SessionEnd(id int64) (int64, bool) { end, ok := w.ends[id]; return end, ok }

func (w *seenWorld) SessionGone(id int64) (int64, bool) {
	if since, ok := w.gone[id]; ok {
		return since, true
	}
	end, ok := w.ends[id]
	return end, ok && end > 0
}

func (w *seenWorld) Crash(client, life int) (int64, bool) {
	end, ok := w.crashes[client]
	return end, ok && life == 0
}

func (w *seenWorld) Blocked(op *world.Op, _ string) sim.Violation {
	return sim.Violation{Property: "progress", Ops: []*world.Op{op}, Message: w.Explain(op).Text}
}

func (w *seenWorld) Abandoned([]*world.Op, string, func(*world.Op) bool) (string, *world.Op, bool) {
	return "", nil, false
}

func (w *seenWorld) LeftBehind([]*world.Op, Leftovers) []sim.Violation { return nil }

// op adds an operation of a client whose session is 0xa1 for client 1, 0xa2 for client 2, …
func (s *scene) op(client int, name string, call, ret int64, outcome world.Outcome) *world.Op {
	op := &world.Op{
		Name: name, Client: client - 1, Call: call, Return: ret, Outcome: outcome, Number: call,
		SessionAt: 0xa0 + int64(client),
	}
	s.ops = append(s.ops, op)
	slices.SortFunc(s.ops, func(a, b *world.Op) int { return int(a.Call - b.Call) })
	return op
}

// grant adds a successful acquisition with a token.
func (s *scene) grant(client int, call, ret, token int64) *world.Op {
	op := s.op(client, "acquire", call, ret, world.OK)
	op.Data = &Held{op: op, token: token}
	return op
}

// lockEpisode is an episode of locks.
type lockEpisode = contestEpisode[Locker, lockRecipe]

// broken returns the properties that a lock's judge finds broken, with the messages.
func (s *scene) broken() (properties []string, text string) {
	j := (&lockEpisode{Script: Script[contestTurn]{Path: "/t/x"}, contest: &lockContest}).Judge(s.view())
	return summary(j)
}

func summary(j Judgement) (properties []string, text string) {
	j.Resolve()
	for _, v := range j.Violations {
		properties = append(properties, v.Property)
		text += v.Message + "\n"
	}
	if j.Unknown != "" {
		properties = append(properties, "unknown")
	}
	return properties, text
}

func TestLockScenes(t *testing.T) {
	cases := map[string]struct {
		make func(s *scene)
		want string // properties
		says string
	}{
		"one after the other": {func(s *scene) {
			s.grant(1, 1, 2, 1)
			s.op(1, "release", 3, 5, world.OK)
			s.grant(2, 1, 4, 2)
			s.op(2, "release", 6, 7, world.OK)
		}, "", ""},
		"two with both sessions alive": {func(s *scene) {
			s.grant(1, 1, 2, 0)
			s.grant(2, 1, 4, 0)
			s.op(1, "release", 6, 7, world.OK)
		}, "exclusion", "session 0xa2"},
		"two users of one session": {func(s *scene) {
			s.grant(1, 1, 2, 0)
			s.grant(1, 1, 4, 0).User = 1
			s.op(1, "release", 6, 7, world.OK)
		}, "exclusion-in-session", "c1 (user 2)"},
		// A holder that has not been told of its expiry may overlap with the next one.
		"a zombie that has not been told": {func(s *scene) {
			s.grant(1, 1, 2, 1)
			s.ends = map[int64]int64{0xa1: 5}
			s.grant(2, 1, 7, 2)
			s.op(1, "release", 9, 10, world.Unknown)
		}, "", ""},
		"the next one came before the session ended": {func(s *scene) {
			s.grant(1, 1, 2, 1)
			s.ends = map[int64]int64{0xa1: 8}
			s.grant(2, 1, 7, 2)
		}, "exclusion", "session 0xa1"},
		// The reply that grants the lock may come after the session has ended.
		"a grant that arrives after the session died": {func(s *scene) {
			s.grant(1, 1, 10, 1)
			s.ends = map[int64]int64{0xa1: 5}
			s.grant(2, 2, 7, 2)
			s.op(2, "release", 12, 13, world.OK)
		}, "", ""},
		// On real servers the end of a session may be unknown: the grant was at any time in the call.
		"a session ended, nobody knows when": {func(s *scene) {
			s.grant(1, 1, 10, 7)
			s.ends = map[int64]int64{0xa1: 0}
			s.grant(2, 2, 4, 6)
			s.op(2, "release", 5, 6, world.OK)
			s.grant(3, 11, 12, 8)
		}, "", ""},
		"a session ended at some moment of the call": {func(s *scene) {
			s.grant(1, 1, 10, 7)
			s.ends, s.gone = map[int64]int64{0xa1: 3}, map[int64]int64{0xa1: 9}
			s.grant(2, 2, 5, 6)
			s.op(2, "release", 6, 7, world.OK)
			s.grant(3, 11, 12, 8)
		}, "", ""},
		"a token that was granted before such a call": {func(s *scene) {
			s.grant(2, 1, 2, 9)
			s.op(2, "release", 3, 4, world.OK)
			s.grant(1, 5, 10, 7)
			s.ends = map[int64]int64{0xa1: 0}
		}, "fencing", ""},
		"a holder whose process died": {func(s *scene) {
			s.grant(1, 1, 2, 1)
			s.crashes = map[int]int64{0: 5}
			s.grant(2, 1, 7, 2)
		}, "", ""},
		"a release of unknown outcome ends the hold": {func(s *scene) {
			s.grant(1, 1, 2, 1)
			s.op(1, "release", 3, 20, world.Unknown)
			s.grant(2, 1, 7, 2)
		}, "", ""},
		"an acquisition that failed holds nothing": {func(s *scene) {
			s.op(1, "acquire", 1, 2, world.Fail)
			s.grant(2, 1, 7, 2)
		}, "", ""},
		"a token that did not grow": {func(s *scene) {
			s.grant(1, 1, 2, 5)
			s.op(1, "release", 3, 4, world.OK)
			s.grant(2, 5, 6, 5)
		}, "fencing", "the token did not grow"},
		"an answer that the recipe must handle": {func(s *scene) {
			s.op(1, "acquire", 1, 2, world.Fail).Err = zk.ErrNodeExists
		}, "unexpected-error", "node already exists"},
		"the connection may be lost when faults strike": {func(s *scene) {
			s.op(1, "acquire", 1, 2, world.Fail).Err = zk.ErrConnectionClosed
		}, "", ""},
		"who was told that the lock is lost may fail to release it": {func(s *scene) {
			s.op(1, "release", 1, 2, world.Unknown).Err = recipes.ErrLost
		}, "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := &scene{}
			c.make(s)
			got, text := s.broken()
			got = slices.Compact(got)
			if !strings.Contains(" "+strings.Join(got, " "), " "+c.want) || (c.want == "") != (len(got) == 0) ||
				!strings.Contains(text, c.says) {
				t.Errorf("broken: %v, want %q with %q:\n%s", got, c.want, c.says, text)
			}
		})
	}
}

// The guarded resource accepts no write of an earlier holder after one of a later holder, and
// accepts everything when there are no tokens.
func TestResourceChecksTokens(t *testing.T) {
	var r resource
	early, late, none := &Held{token: 3}, &Held{token: 4}, &Held{}
	for i, step := range []struct {
		by       *Held
		accepted bool
	}{{none, true}, {early, true}, {late, true}, {late, true}, {early, false}, {none, false}} {
		text := r.write(step.by)
		if got := r.writes[i].accepted; got != step.accepted || strings.HasPrefix(text, "refused") == got {
			t.Errorf("write %d with token %d: accepted %v (%s)", i, step.by.token, got, text)
		}
	}
}

// offered adds an offer; removed adds a take, poll or peek with its result.
func (s *scene) offered(client int, value string, call, ret int64, outcome world.Outcome) *world.Op {
	op := s.op(client, "offer", call, ret, outcome)
	op.Arg = value
	return op
}

func (s *scene) removed(client int, name, value string, call, ret int64, outcome world.Outcome) *world.Op {
	op := s.op(client, name, call, ret, outcome)
	op.Result = value
	return op
}

func TestQueueScenes(t *testing.T) {
	const ok, unknown = world.OK, world.Unknown
	cases := map[string]struct {
		make func(s *scene)
		want string
	}{
		"first in, first out": {func(s *scene) {
			s.offered(1, "a", 1, 2, ok)
			s.offered(1, "b", 3, 4, ok)
			s.removed(2, "poll", "a", 5, 6, ok)
			s.removed(2, "poll", "b", 7, 8, ok)
			s.removed(2, "poll", "", 9, 10, ok)
		}, ""},
		"overtaking": {func(s *scene) {
			s.offered(1, "a", 1, 2, ok)
			s.offered(1, "b", 3, 4, ok)
			s.removed(2, "poll", "b", 5, 6, ok)
			s.removed(2, "poll", "a", 7, 8, ok)
		}, "order"},
		"offers at the same time have no order": {func(s *scene) {
			s.offered(1, "a", 1, 4, ok)
			s.offered(2, "b", 2, 3, ok)
			s.removed(2, "poll", "b", 5, 6, ok)
			s.removed(2, "poll", "a", 7, 8, ok)
		}, ""},
		"twice": {func(s *scene) {
			s.offered(1, "a", 1, 2, ok)
			s.removed(1, "poll", "a", 3, 4, ok)
			s.removed(2, "take", "a", 5, 6, ok)
		}, "duplicate"},
		"out of nowhere": {func(s *scene) { s.removed(1, "poll", "a", 3, 4, ok) }, "phantom"},
		"empty though it is not": {func(s *scene) {
			s.offered(1, "a", 1, 2, ok)
			s.removed(2, "poll", "", 3, 4, ok)
			s.removed(2, "poll", "a", 5, 6, ok)
		}, "false-empty"},
		"a peek that sees the past": {func(s *scene) {
			s.offered(1, "a", 1, 2, ok)
			s.removed(1, "poll", "a", 3, 4, ok)
			s.removed(2, "peek", "a", 5, 6, ok)
		}, "stale-peek"},
		"an offer of unknown outcome that happened": {func(s *scene) {
			s.offered(1, "a", 1, 2, unknown)
			s.removed(2, "poll", "a", 5, 6, ok)
		}, ""},
		"an offer of unknown outcome that did not": {func(s *scene) {
			s.offered(1, "a", 1, 2, unknown)
			s.removed(2, "poll", "", 5, 6, ok)
		}, ""},
		"an offer of unknown outcome that happened late": {func(s *scene) {
			s.offered(1, "a", 1, 2, unknown)
			s.removed(2, "poll", "", 5, 6, ok)
			s.removed(2, "poll", "a", 7, 8, ok)
		}, ""},
		"a poll of unknown outcome that took an item": {func(s *scene) {
			s.offered(1, "a", 1, 2, ok)
			s.removed(2, "poll", "", 3, 4, unknown)
			s.removed(1, "poll", "", 5, 6, ok)
		}, ""},
		"a poll of unknown outcome that did not": {func(s *scene) {
			s.offered(1, "a", 1, 2, ok)
			s.removed(2, "poll", "", 3, 4, unknown)
			s.removed(1, "poll", "a", 5, 6, ok)
		}, ""},
		"one poll of unknown outcome does not explain two items": {func(s *scene) {
			s.offered(1, "a", 1, 2, ok)
			s.offered(1, "b", 1, 2, ok).Call = 2
			s.removed(2, "poll", "", 3, 4, unknown)
			s.removed(1, "poll", "", 5, 6, ok)
		}, "false-empty"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := &scene{}
			c.make(s)
			got, text := summary((&queueEpisode{Script: Script[string]{Path: "/t/x"}}).Judge(s.view()))
			if strings.Join(got, " ") != c.want {
				t.Errorf("broken: %v, want %q:\n%s", got, c.want, text)
			}
		})
	}
}

// A take that waits is in order when there may be nothing to take, and not when there surely is.
func TestWaitingTakes(t *testing.T) {
	cases := map[string]struct {
		make    func(s *scene)
		inOrder bool
	}{
		"nothing was offered": {func(*scene) {}, true},
		"one item":            {func(s *scene) { s.offered(1, "a", 1, 2, world.OK) }, false},
		"one item, perhaps":   {func(s *scene) { s.offered(1, "a", 1, 2, world.Unknown) }, true},
		"one item, just peeked": {func(s *scene) {
			s.offered(1, "a", 1, 2, world.OK)
			s.removed(1, "peek", "a", 3, 4, world.OK)
		}, false},
		"one item, taken": {func(s *scene) {
			s.offered(1, "a", 1, 2, world.OK)
			s.removed(1, "take", "a", 3, 4, world.OK)
		}, true},
		"one item, perhaps taken": {func(s *scene) {
			s.offered(1, "a", 1, 2, world.OK)
			s.removed(1, "take", "", 3, 4, world.Unknown)
		}, true},
		"two items, one perhaps taken": {func(s *scene) {
			s.offered(1, "a", 1, 2, world.OK)
			s.offered(1, "b", 3, 4, world.OK)
			s.removed(1, "take", "", 5, 6, world.Unknown)
		}, false},
		"one item, and a poll that found nothing before": {func(s *scene) {
			s.removed(1, "poll", "", 1, 2, world.OK)
			s.offered(1, "a", 3, 4, world.OK)
		}, false},
	}
	for name, c := range cases {
		s := &scene{}
		c.make(s)
		take := s.op(3, "take", 50, 0, world.Running)
		s.waiting = []*world.Op{take}
		e := &queueEpisode{Script: Script[string]{Path: "/t/x"}}
		if got := slices.Contains(e.MayWaitForever(s.ops, s.waiting), take); got != c.inOrder {
			t.Errorf("%s: waiting is in order: %v, want %v", name, got, c.inOrder)
		}
		got, text := summary(e.Judge(s.view()))
		if !c.inOrder && (!slices.Contains(got, "lost-wakeup") || !strings.Contains(text, "items in the queue")) {
			t.Errorf("%s: broken: %v, want lost-wakeup:\n%s", name, got, text)
		}
	}
}

// A client that waits for the lock when all is healed breaks progress.
func TestWaitingForTheLock(t *testing.T) {
	s := &scene{}
	s.waiting = []*world.Op{s.op(1, "acquire", 1, 0, world.Running)}
	if got, text := s.broken(); !slices.Equal(got, []string{"progress"}) ||
		!strings.Contains(text, "c1 still waits in acquire") {
		t.Errorf("broken: %v:\n%s", got, text)
	}
	if len((&lockEpisode{}).MayWaitForever(s.ops, s.waiting)) > 0 {
		t.Errorf("nobody may wait for a lock for ever")
	}
}
