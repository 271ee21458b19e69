package recipes_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
)

// The scenes of testdata (see testkit.Scenes) are in worlds of their own:
//
//	q: queue /q receipts      a recipe with a connection of its own
//	p: queue /q on q          another one of the same connection
//	q Offer 1 = ok            a call, and what it returns; a token is #1, #2, … and greater than those before it
//	c := q Claim waits        one that does not return; what it does is named
//	q = ok                    what the oldest call of q that has not returned returns now
//	q gives up = canceled     the same for the newest, when its context has ended
//	q ended Offer 1 = canceled  a call whose context has ended
//	q next get: F | F         what becomes of the next requests of a kind; 9 times F is nine of them
//	q sends                   what q has asked for since, on lines with a tab; … is anything
//	q sends 3 multi           or how often it has asked for that
//
// F is a list of steps with semicolons between them. One may be the fate of the request, else it is carried out after
// the steps: see fates. Any other is a line like those above. The world has lines like these:
//
//	q expires                 also: disconnects, reconnects, closes, and lets go (of requests that hang)
//	sleep 1s                  in the time of the world
//	zk create /q/x data       somebody else; also set, get, delete (/q/* is the only child), and forget (all that begin so)
//	zk left /q = nothing      what is below
type stage struct {
	t       *testing.T
	servers *goclient.Local
	cast    map[string]*actor
	tokens  []any
	pauses  time.Duration // how long a recipe may take: none before something has gone wrong
}

// actor is a recipe, or what a recipe has given.
type actor struct {
	conn  *faulty
	of    reflect.Value
	calls []*sceneCall
	letGo *chan struct{}

	closed bool // its connection, so that what begins now may take long to see that
}

type sceneCall struct {
	result chan string
	cancel context.CancelFunc
	vain   bool // it began when its connection was closed
}

// fates of requests: the error, and whether the request is carried out.
var fates = map[string]struct {
	err     error
	carried bool
}{
	"ok": {nil, true}, "request lost": {zk.ErrConnectionClosed, false}, "reply lost": {io.EOF, true},
	"no server": {zk.ErrNoServer, false}, "no auth": {zk.ErrNoAuth, false}, "no node": {zk.ErrNoNode, false},
}

// troubles are the words for errors; of several all are said.
var troubles = []struct {
	word string
	is   error
}{
	{"unknown", recipes.ErrUnknownOutcome}, {"held", recipes.ErrHeld}, {"not held", recipes.ErrNotHeld}, {"lost", recipes.ErrLost},
	{"closed", recipes.ErrClosed}, {"no answer", recipes.ErrNoAnswer}, {"empty", recipes.ErrEmpty}, {"permits", recipes.ErrPermits}, {"no leader", recipes.ErrNoLeader},
	{"place lost", recipes.ErrPlaceLost}, {"not entered", recipes.ErrNotEntered}, {"entered", recipes.ErrEntered},
	{"overflow", recipes.ErrOverflow}, {"not a number", recipes.ErrNotNumber},
	{"no auth", zk.ErrNoAuth}, {"no node", zk.ErrNoNode}, {"canceled", context.Canceled},
}

// open makes a recipe.
func open(c recipes.Conn, kind, path string, rest []string) any {
	policy := recipes.WithRetry(recipes.RetryPolicy{DelayMin: 100 * time.Millisecond, DelayMax: 400 * time.Millisecond})
	n, _ := strconv.Atoi(strings.Join(rest, ""))
	receipts := []recipes.QueueOption{recipes.WithReceipts()}[:len(rest)&1]
	switch kind {
	case "lock":
		return recipes.NewLock(c, path)
	case "reentrant":
		return recipes.NewReentrantLock(c, path)
	case "multilock":
		return recipes.NewMultiLock(c, append(slices.DeleteFunc([]string{path}, func(s string) bool { return s == "-" }), rest...))
	case "rwlock":
		return recipes.NewRWLock(c, path)
	case "semaphore":
		return recipes.NewSemaphore(c, path, n)
	case "retry":
		return recipes.NewSimpleRetryLock(c, path, policy)
	case "watch":
		return recipes.NewSimpleWatchLock(c, path)
	case "counter":
		return recipes.NewCounter(c, path)
	case "barrier":
		return recipes.NewBarrier(c, path)
	case "doublebarrier":
		return recipes.NewDoubleBarrier(c, path, n)
	case "candidate":
		return recipes.NewCandidate(c, path, recipes.WithData([]byte(rest[0])))
	case "group":
		return recipes.NewGroup(c, path, rest[0])
	case "queue":
		return recipes.NewQueue(c, path, receipts...)
	case "lockingqueue":
		return recipes.NewLockingQueue(c, path)
	case "priorityqueue":
		return recipes.NewPriorityQueue(c, path, receipts...)
	}
	panic("no recipe " + kind)
}

func TestScenes(t *testing.T) { testkit.Scenes(t, "testdata/*.txt", playScene) }

func playScene(t *testing.T, lines string) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		s := &stage{t: t, servers: servers, cast: map[string]*actor{"zk": {conn: connect(t, servers)}}}
		all := strings.Split(lines, "\n")
		for i := 0; i < len(all); i++ {
			line, from := all[i], i+1
			for i+1 < len(all) && strings.HasPrefix(all[i+1], "\t") {
				i++
			}
			if line != "" && line[0] != '#' {
				s.play(line, strings.Join(all[from:i+1], "\n"), false)
			}
		}
		if t.Failed() {
			t.Log(lines)
		}
	})
}

func (s *stage) wants(line, got, want string) {
	if got != want {
		s.t.Errorf("%s: it is %q, want %q", line, got, want)
	}
}

// play does what a line says. Within is a request that is carried out meanwhile.
func (s *stage) play(line, block string, within bool) {
	if !within {
		synctest.Wait()
	}
	name, words, _ := strings.Cut(line, " ")
	if rest, is := strings.CutPrefix(words, "next "); is {
		op, faults, _ := strings.Cut(rest, ": ")
		s.plan(s.cast[name], op, faults)
		return
	}
	as := ""
	if rest, is := strings.CutPrefix(words, ":= "); is {
		as = name
		name, words, _ = strings.Cut(rest, " ")
	}
	words, want, _ := strings.Cut(words, "= ")
	words = strings.TrimSuffix(words, " ")
	if words == "waits" || strings.HasSuffix(words, " waits") {
		words, want = strings.TrimSuffix(strings.TrimSuffix(words, "waits"), " "), "waits"
	}
	if kind, is := strings.CutSuffix(name, ":"); is {
		s.enter(kind, strings.Fields(words))
		return
	}
	if name == "sleep" {
		d, err := time.ParseDuration(words)
		must(s.t, err)
		time.Sleep(d)
		return
	}
	a := s.cast[name]
	if a == nil {
		s.t.Fatalf("%s: who is that?", line)
	}
	if name == "zk" {
		s.wants(line, s.outside(a.conn.Conn, strings.Fields(words)), want)
		return
	}
	first, rest, _ := strings.Cut(words, " ")
	switch {
	case a.conn != nil && s.happens(a, words):
	case first == "sends" && rest == "":
		if want, got := strings.ReplaceAll(block, "\t", ""), a.conn.transcript(); want != "…" {
			s.wants(line, got, want)
		}
	case first == "sends":
		n, request, _ := strings.Cut(rest, " ")
		s.wants(line, fmt.Sprint(attempts(a.conn, request)), n)
	case words == "gives up":
		c := a.calls[len(a.calls)-1]
		c.cancel()
		s.wants(line, s.outcome(a, c, line, within), want)
	case words != "":
		c := s.call(a, as, words, line)
		s.wants(line, s.outcome(a, c, line, within), want)
	case len(a.calls) > 0:
		s.wants(line, s.outcome(a, a.calls[0], line, within), want)
	default:
		s.wants(line, s.said(a.of, as, a), want)
	}
}

// enter brings a recipe in.
func (s *stage) enter(name string, words []string) {
	a := &actor{letGo: new(chan struct{})}
	if n := len(words); n > 2 && words[n-2] == "on" {
		a.conn, a.letGo, words = s.cast[words[n-1]].conn, s.cast[words[n-1]].letGo, words[:n-2]
	} else {
		a.conn = connect(s.t, s.servers)
	}
	a.of = reflect.ValueOf(open(a.conn, words[0], words[1], words[2:]))
	s.cast[name] = a
}

// happens reports whether words say what happens to a connection, which then happens.
func (s *stage) happens(a *actor, words string) bool {
	switch words {
	case "expires":
		s.servers.Expire(a.conn.Conn)
	case "disconnects":
		s.servers.Disconnect(a.conn.Conn)
	case "reconnects":
		s.servers.Reconnect(a.conn.Conn)
	case "closes":
		a.conn.Close()
		a.closed = true
	case "lets go":
		close(*a.letGo)
	default:
		return false
	}
	return true
}

func (s *stage) plan(a *actor, op, text string) {
	times := 1
	if n, rest, found := strings.Cut(text, " times "); found {
		times, _ = strconv.Atoi(n)
		text = rest
	}
	var plan []fault
	for f := range strings.SplitSeq(text, " | ") {
		s.pauses = max(s.pauses, time.Second)
		if f == "hang" {
			*a.letGo = make(chan struct{})
			plan = append(plan, hang(*a.letGo))
			continue
		}
		plan = append(plan, func(carryOut func() error) (err error) {
			sent := false
			for step := range strings.SplitSeq(f, "; ") {
				if fate, is := fates[step]; !is {
					s.play(step, "", true)
				} else if sent, err = true, fate.err; fate.carried {
					err = errors.Join(carryOut(), err)
				}
			}
			if !sent {
				return carryOut()
			}
			return err
		})
	}
	a.conn.plan(op, slices.Repeat(plan, times)...)
}

// call begins a call.
func (s *stage) call(a *actor, as, words, line string) *sceneCall {
	ctx, cancel := context.WithCancel(s.t.Context())
	if rest, ended := strings.CutPrefix(words, "ended "); ended {
		cancel()
		words = rest
	}
	c := &sceneCall{make(chan string, 1), cancel, a.closed}
	a.calls = append(a.calls, c)
	if words == "drain" {
		go func() { c.result <- s.drain(ctx, a) }()
		return c
	}
	args := strings.Fields(words)
	method := a.of.MethodByName(args[0])
	if !method.IsValid() {
		method = reflect.ValueOf(a.conn.Conn).MethodByName(args[0])
	}
	if !method.IsValid() {
		s.t.Fatalf("%s: %v has no method %s", line, a.of.Type(), args[0])
	}
	in := arguments(method.Type(), ctx, args[1:])
	go func() {
		results := method.Call(in)
		var text []string
		if n := len(results); n > 0 && results[n-1].Type() == reflect.TypeFor[error]() {
			if err, _ := results[n-1].Interface().(error); err != nil {
				c.result <- trouble(err)
				return
			}
			results = results[:n-1]
		}
		for _, r := range results {
			text = append(text, s.said(r, as, a))
		}
		if text == nil {
			text = []string{"ok"}
		}
		if args[0] == "Token" || args[0] == "Leader" {
			text[len(text)-1] = s.token(results[len(results)-1].Interface())
		}
		c.result <- strings.Join(text, " ")
	}()
	return c
}

// arguments are what a method is called with.
func arguments(of reflect.Type, ctx context.Context, words []string) (in []reflect.Value) {
	for i := range of.NumIn() {
		switch p := of.In(i); {
		case p == reflect.TypeFor[context.Context]():
			in = append(in, reflect.ValueOf(ctx))
			continue
		case of.IsVariadic() && i == of.NumIn()-1:
			for _, word := range words {
				in = append(in, reflect.ValueOf(word))
			}
		case p == reflect.TypeFor[[]string]():
			in = append(in, reflect.ValueOf(slices.DeleteFunc(strings.Split(words[0], ","), func(s string) bool { return s == "-" })))
		case p == reflect.TypeFor[[]byte]():
			in = append(in, reflect.ValueOf([]byte(words[0])))
		case p.Kind() == reflect.Bool:
			in = append(in, reflect.ValueOf(words[0] == "true"))
		case p.Kind() == reflect.String:
			in = append(in, reflect.ValueOf(words[0]))
		default:
			n, err := strconv.ParseInt(words[0], 10, 64)
			if err != nil {
				panic(err)
			}
			in = append(in, reflect.ValueOf(n).Convert(p))
		}
		words = words[min(1, len(words)):]
	}
	return in
}

// outcome is what has come of a call: at once, unless a fault makes its recipe pause.
func (s *stage) outcome(a *actor, c *sceneCall, line string, within bool) string {
	limit := max(s.pauses, 1)
	if c.vain {
		limit = time.Minute
	}
	if strings.HasSuffix(line, " waits") {
		limit = 1
	}
	if !within {
		synctest.Wait()
	}
	select {
	case text := <-c.result:
		a.calls = slices.DeleteFunc(a.calls, func(other *sceneCall) bool { return other == c })
		return text
	case <-time.After(limit):
		return "waits"
	}
}

// said is a result in words.
func (s *stage) said(r reflect.Value, as string, a *actor) string {
	if as != "" {
		s.cast[as] = &actor{conn: a.conn, letGo: a.letGo, of: r}
	}
	switch v := r.Interface().(type) {
	case []byte:
		return string(v)
	case []string:
		return cmp.Or(strings.Join(v, ","), "none")
	case <-chan struct{}:
		select {
		case <-v:
			return "closed"
		default:
			return map[bool]string{true: "none", false: "open"}[v == nil]
		}
	case *recipes.Claim:
		return fmt.Sprintf("%s attempt %d", v.Data(), v.Attempt())
	default:
		return fmt.Sprint(v)
	}
}

// token numbers tokens. Those that are numbers grow.
func (s *stage) token(token any) string {
	n, number := token.(int64)
	if number && n == 0 {
		return "0"
	}
	i := slices.Index(s.tokens, token)
	if i < 0 {
		if number && slices.ContainsFunc(s.tokens, func(old any) bool { return old.(int64) > n }) {
			return "smaller than one before"
		}
		i = len(s.tokens)
		s.tokens = append(s.tokens, token)
	}
	return fmt.Sprint("#", i+1)
}

// trouble is an error in words.
func trouble(err error) string {
	var all []string
	for _, t := range troubles {
		if bare := err == t.is && strings.HasPrefix(t.word, "no auth"); errors.Is(err, t.is) && !bare {
			all = append(all, t.word)
		}
	}
	if unknown := new(recipes.UnknownOutcomeError); errors.As(err, &unknown) {
		all = append(all, fmt.Sprintf("%s %q", unknown.Op, unknown.Data))
	}
	if all == nil {
		return err.Error()
	}
	return strings.Join(all, ", ")
}

// drain polls until nothing is left.
func (s *stage) drain(ctx context.Context, a *actor) string {
	q := a.of.Interface().(interface {
		Poll(context.Context) ([]byte, error)
	})
	var items []string
	for {
		item, err := q.Poll(ctx)
		switch {
		case err == recipes.ErrEmpty && items == nil:
			return "empty"
		case err == recipes.ErrEmpty:
			return strings.Join(items, " ")
		case err != nil:
			return trouble(err)
		}
		items = append(items, string(item))
	}
}

// outside is what somebody else does, past the recipes, and sees.
func (s *stage) outside(c *goclient.Conn, words []string) string {
	path := words[1]
	if dir, only := strings.CutSuffix(path, "/*"); only {
		names, _, err := c.Children(dir)
		if err != nil || len(names) != 1 {
			return fmt.Sprintf("%s has %q: %v", dir, names, err)
		}
		path = dir + "/" + names[0]
	}
	data := strings.Join(words[2:], " ")
	switch words[0] {
	case "create":
		_, err := c.Create(path, []byte(data), 0, zk.WorldACL(zk.PermAll))
		must(s.t, err)
	case "set":
		_, err := c.Set(path, []byte(data), -1)
		must(s.t, err)
	case "delete":
		must(s.t, c.Delete(path, -1))
	case "forget":
		names, _, err := c.Children(filepath.Dir(path))
		must(s.t, err)
		for _, name := range names {
			if name = filepath.Dir(path) + "/" + name; strings.HasPrefix(name, path) {
				must(s.t, c.Delete(name, -1))
			}
		}
	case "get":
		data, _, err := c.Get(path)
		must(s.t, err)
		return string(data)
	case "left":
		synctest.Wait()
		var left []string
		for line := range strings.Lines(s.servers.Dump(path)) {
			left = append(left, strings.Fields(line)[0])
		}
		if len(left) < 2 {
			return "nothing"
		}
		return guid.ReplaceAllString(strings.Join(left[1:], " "), "A")
	default:
		s.t.Fatalf("%s: nobody can do that", strings.Join(words, " "))
	}
	return ""
}
