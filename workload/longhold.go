package workload

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
)

// Long holds: a third of the holds take time. Between two uses of what it holds the holder runs interludes: time passes,
// other recipes are used over the same session, and a second object of the recipe under test is taken (always after
// the first, so that a correct recipe cannot deadlock) and given back. After each the holder asks the recipe again
// whether it still holds, and goes on with the token that it got at the beginning. So an expiry can be learned within
// one hold, and tokens are used late.

// interlude is one thing that a holder does between two uses.
type interlude struct {
	what string
	wait time.Duration // of a wait
}

// interludes are all. The waits are short, longer than most back-offs, and longer than a session lasts without its client
// (sim: 4 s).
var interludes = [...]interlude{
	{"wait", 100 * time.Millisecond}, {"wait", time.Second}, {"wait", 5 * time.Second}, {what: tallying}, {what: logging},
	{what: "nest"},
}

// The operations that use other recipes.
const (
	tallying = "tally"
	logging  = "log"
)

// drawInterludes draws what a holder does in a hold that takes time; nothing in two of three.
func drawInterludes(p *world.Plan, label string) (drawn []interlude) {
	if p.Choose(3, label) < 2 {
		return nil
	}
	for range 1 + p.Choose(3, label) {
		drawn = append(drawn, interludes[p.Choose(len(interludes), label)])
	}
	return drawn
}

// kit is what a user has for its interludes.
type kit struct {
	user   User
	path   string           // of the object under test
	bare   bool             // other recipes cannot be used
	second second           // nil if there cannot be a second object
	inner  *secondObject    // nil until it is needed
	over   func(recipe any) // ends the inner one; nil if there is nothing to do
}

// second makes a second object of a recipe, at a path.
type second func(c recipes.Conn, path string) secondObject

// Where interludes leave something: beside the object under test.
const (
	tallyEnding = "-tally"
	logEnding   = "-log"
	innerEnding = "-inner"
)

// kit returns what a user has for its interludes. second makes a second object of the recipe; nil if the kind has none.
func (c *Script[T]) kit(u User, second second) *kit {
	_, foreign := u.Conn().(interface{ OneObject() })
	h := &kit{user: u, path: c.Path, second: second}
	if c.terms.closes {
		h.over = func(recipe any) { c.Over(u, recipe) }
	}
	h.bare = foreign || c.terms.door == world.ByDialer || c.terms.semantics != goclient.SemanticsGo
	if foreign || !c.terms.alone() {
		h.second = nil
	}
	return h
}

// play has its user run interludes. use uses what is held once more, and reports whether the holder goes on.
func (h *kit) play(todo []interlude, use func() bool) {
	for _, e := range todo {
		h.run(e)
		if !use() {
			return
		}
	}
}

func (h *kit) run(e interlude) {
	switch {
	case e.what == "nest" && h.second != nil:
		h.nest()
	case e.what == tallying && !h.bare:
		h.call(tallying, func(ctx context.Context) error {
			_, err := recipes.NewCounter(h.user.Conn(), h.path+tallyEnding).Add(ctx, 1)
			return err
		})
	case e.what == logging && !h.bare:
		h.call(logging, func(ctx context.Context) error {
			return recipes.NewQueue(h.user.Conn(), h.path+logEnding).Offer(ctx, []byte("done"))
		})
	case e.what == "wait":
		if _, simulated := h.user.(simUser); !simulated { // time is real
			e.wait = min(e.wait, 5*time.Second)
		}
		h.user.Do("work", func() string { return fmt.Sprintf("for %v", e.wait) })
		h.user.Wait(e.wait)
	}
}

// call uses another recipe.
func (h *kit) call(name string, f func(context.Context) error) {
	ctx, op := h.user.Begin(name, "", true)
	err := f(ctx)
	h.user.End(op, OutcomeOf(err), "", err)
}

// nest takes the second object, uses it and gives it back.
func (h *kit) nest() {
	if h.inner == nil {
		h.inner = &secondObject{path: h.path + innerEnding, quit: func() {}}
		made := h.second(h.inner.restrict(h.user.Conn()), h.inner.path)
		h.inner.recipe, h.inner.holder, h.inner.take, h.inner.give = made.recipe, made.holder, made.take, made.give
	}
	if got, _ := take(h.user, h.inner.holder, theInner.Acquire, h.inner.method()); got != nil {
		h.user.Do("use", func() string { return theInner.Noun })
		got.giveBack(theInner.Release, h.inner.give, false)
	}
	if h.inner.strayed() {
		h.second = nil
	}
}

// end ends what the interludes needed.
func (h *kit) end() {
	if h.inner != nil && h.over != nil {
		h.over(h.inner.recipe)
	}
}

// alone reports whether a recipe needs nothing but its path and a recipes.Conn, and shares nothing, so that a user may
// have two.
func (t *terms) alone() bool {
	return t.statics == nil && len(t.beside) == 0 && len(t.setUp) == 0 && t.door == world.InProcess
}

// secondObject is a second object of the recipe under test, which a user takes while it holds the first. A simulated
// recipe may use whatever path it likes, also the same for all objects, and then its second object is the first,
// which its holder would wait for. So it changes nothing outside of its path: its first try to do so ends it.
type secondObject struct {
	recipe any
	holder
	take, give func(context.Context) error
	path       string

	mu     sync.Mutex // guards what follows: a recipe may send from several goroutines
	strays int        // how often it has tried to
	quit   context.CancelFunc
}

// maxStrays is how often an object is told that it must not. One that takes no error for an answer would try for ever.
const maxStrays = 10

// begin notes that a call is under way, which quit ends.
func (s *secondObject) begin(quit context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quit = quit
}

// stray notes that the object has tried to. It is false if it has been told often enough.
func (s *secondObject) stray() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strays++
	s.quit()
	return s.strays <= maxStrays
}

// strayed says whether the object has tried to.
func (s *secondObject) strayed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.strays > 0
}

// theInner is what a second object is to its holder.
var theInner = Role{Noun: "the inner lock", Acquire: "inner", Release: "inner-release"}

// method is how the object is taken. It is not, without an error, if it strays.
func (s *secondObject) method() method {
	return method{try: func(ctx context.Context) (bool, error) {
		ctx, quit := context.WithCancel(ctx)
		defer quit()
		s.begin(quit)
		err, back := s.apart(ctx)
		switch {
		case s.strayed():
			return false, nil
		case !back:
			runtime.Goexit() // the process is dead
		}
		return err == nil, err
	}}
}

// apart takes the object on a goroutine of its own, which a recipe that goes on straying loses. It is false if that has
// ended before the recipe came back.
func (s *secondObject) apart(ctx context.Context) (err error, back bool) {
	came := make(chan error, 1)
	go func() {
		defer close(came)
		came <- s.take(ctx)
	}()
	err, back = <-came
	return err, back
}

// restricted is the connection of a second object.
type restricted struct {
	recipes.Wrapper
	inner recipes.Conn
	of    *secondObject
}

// restrict returns a connection over which the object can change nothing outside of its path.
func (s *secondObject) restrict(c recipes.Conn) recipes.Conn {
	f := &restricted{inner: c, of: s}
	f.Conn = recipes.Around(c, func(op, path string, send func() error) error {
		switch op {
		case "create", "set", "delete", "setACL":
			if err := f.check(path); err != nil {
				return err
			}
		}
		return send()
	})
	return f
}

// check returns an error if a znode is not the object's. What is above it may be made, and is there.
func (f *restricted) check(path string) error {
	own := f.of.path
	if path == own || strings.HasPrefix(path, own+"/") || path == "/" || strings.HasPrefix(own, path+"/") {
		return nil
	}
	if !f.of.stray() {
		runtime.Goexit()
	}
	return zk.ErrNoAuth
}

// Multi checks each part.
func (f *restricted) Multi(ops ...any) ([]zk.MultiResponse, error) {
	for _, op := range ops {
		var err error
		switch op := op.(type) {
		case *zk.CreateRequest:
			err = f.check(op.Path)
		case *zk.DeleteRequest:
			err = f.check(op.Path)
		case *zk.SetDataRequest:
			err = f.check(op.Path)
		}
		if err != nil {
			return nil, err
		}
	}
	return f.inner.Multi(ops...)
}
