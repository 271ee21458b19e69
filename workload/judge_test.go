package workload

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// scene is an episode put together by hand, for what a judge must and must not say. Stamps are small numbers. Those of
// testdata (see testkit.Scenes) have operations and ends, and the properties that are broken, with a part of the message:
//
//	== TITLE
//	c1 user 2 acquire 1..2 token 3    also: unknown, fail and the errors of errorsByName
//	c2 poll → a 3..                   one that still waits
//	session of c1 ends 5              also: gone; and process of c1 ends
//	= exclusion: session 0xa2
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
func (w *seenWorld) Explain(op *world.Op) world.Sentence {
	return world.Say("%s waits forever in %s", Who(op), op.Name)
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
type lockEpisode = contestEpisode[Locker]

var (
	sceneOp  = regexp.MustCompile(`^c(\d)( user 2)? (\w+)(?: ([a-z]))?(?: → (\w+))? (\d+)(?:\.\.(\d*))?(?: (unknown|fail))?(?: token (\d+))?(?: (node exists|connection closed|lost))?$`)
	sceneEnd = regexp.MustCompile(`^(session|process) of c(\d) (ends|gone) (\d+)$`)

	errorsByName = map[string]error{
		"node exists": zk.ErrNodeExists, "connection closed": zk.ErrConnectionClosed, "lost": recipes.ErrLost,
	}
)

// add adds what a line of testdata says.
func (s *scene) add(t *testing.T, line string) {
	number := func(text string) int64 { n, _ := strconv.ParseInt(text, 10, 64); return n }
	if m := sceneEnd.FindStringSubmatch(line); m != nil {
		client, at := number(m[2]), number(m[4])
		switch m[1] + m[3] {
		case "sessionends":
			s.ends = map[int64]int64{0xa0 + client: at}
		case "sessiongone":
			s.gone = map[int64]int64{0xa0 + client: at}
		default:
			s.crashes = map[int]int64{int(client) - 1: at}
		}
		return
	}
	m := sceneOp.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("%q is no line of a scene", line)
	}
	op := s.op(int(number(m[1])), m[3], number(m[6]), number(m[7]), map[string]world.Outcome{
		"": world.OK, "unknown": world.Unknown, "fail": world.Fail}[m[8]])
	op.Arg, op.Result, op.Err = m[4], strings.TrimPrefix(m[5], "nothing"), errorsByName[m[10]]
	if m[2] != "" {
		op.User = 1
	}
	if m[7] == "" {
		op.Outcome = world.Running
		s.waiting = append(s.waiting, op)
	} else if op.Name == "acquire" && op.Outcome == world.OK {
		op.Data = &Held{op: op, token: number(m[9])}
	}
}

type sceneJudge interface {
	Judge(*View) Judgement
	MayWaitForever(ops, waiting []*world.Op) []*world.Op
}

// judges are those of the kinds that have scenes.
var judges = map[string]sceneJudge{
	"lock":  &lockEpisode{Script: Script[contestTurn]{Path: "/t/x"}, contest: &lockContest},
	"queue": &queueEpisode{Script: Script[string]{Path: "/t/x"}},
}

// broken returns the properties that a lock's judge finds broken, with the messages.
func (s *scene) broken() (properties []string, text string) {
	return summary(judges["lock"].Judge(s.view()))
}

func TestScenes(t *testing.T) {
	for kind, judge := range judges {
		testkit.Scenes(t, "testdata/"+kind+".txt", func(t *testing.T, lines string) { wantJudged(t, judge, lines) })
	}
}

func wantJudged(t *testing.T, judge sceneJudge, lines string) {
	s, want, says := &scene{}, "", ""
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if verdict, is := strings.CutPrefix(line, "= "); is {
			want, says, _ = strings.Cut(verdict, ": ")
			continue
		}
		s.add(t, line)
	}
	got, text := []string{"it may wait"}, ""
	if len(s.waiting) == 0 || len(judge.MayWaitForever(s.ops, s.waiting)) == 0 {
		got, text = summary(judge.Judge(s.view()))
	}
	if got = slices.Compact(got); got == nil {
		got = []string{"clean"}
	}
	if !slices.Equal(got, []string{want}) || !strings.Contains(text, says) {
		t.Errorf("%q, want %s with %q:\n%s\n%s", got, want, says, text, lines)
	}
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
