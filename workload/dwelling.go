package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// Dwelling: a third of the holds take time. Between two uses of what it holds the holder runs errands: time passes,
// other recipes are used over the same session, and a second object of the recipe under test is taken (always after
// the first, so that a correct recipe cannot deadlock) and given back. After each the holder asks the recipe again
// whether it still holds, and goes on with the token that it got at the beginning. So an expiry can be learned within
// one hold, and tokens are used late.

// errand is one thing that a holder does between two uses.
type errand struct {
	what string
	wait time.Duration // of a wait
}

// errands are all. The waits are short, longer than most back-offs, and longer than a session lasts without its client
// (sim: 4 s).
var errands = [...]errand{
	{"wait", 100 * time.Millisecond}, {"wait", time.Second}, {"wait", 5 * time.Second}, {what: tallying}, {what: logging},
	{what: "nest"},
}

// The operations that use other recipes.
const (
	tallying = "tally"
	logging  = "log"
)

// drawErrands draws what a holder does in a hold that takes time; nothing in two of three.
func drawErrands(p *sim.Plan, label string) (drawn []errand) {
	if p.Choose(3, label) < 2 {
		return nil
	}
	for range 1 + p.Choose(3, label) {
		drawn = append(drawn, errands[p.Choose(len(errands), label)])
	}
	return drawn
}

// household is what a user has for its errands.
type household struct {
	user   User
	path   string           // of the object under test
	bare   bool             // other recipes cannot be used
	second second           // nil if there cannot be a second object
	inner  *secondObject    // nil until it is needed
	over   func(recipe any) // ends the inner one; nil if there is nothing to do
}

// second makes a second object of a recipe, at a path.
type second func(c recipes.Conn, path string) secondObject

// Where errands leave something: beside the object under test.
const (
	tallyEnding = "-tally"
	logEnding   = "-log"
	innerEnding = "-inner"
)

// household returns what a user has for its errands. second makes a second object of the recipe; nil if the kind has
// none.
func (c *Script[T]) household(u User, second second) *household {
	_, foreign := u.Conn().(interface{ OneObject() })
	_, dials := u.Conn().(dialler)
	h := &household{user: u, path: c.Path, second: second}
	if c.terms.closes {
		h.over = c.Over
	}
	h.bare = foreign || dials || c.terms.semantics != fakezk.SemanticsGo
	if foreign || !c.terms.alone() {
		h.second = nil
	}
	return h
}

// dwell runs errands. use uses what is held once more, and tells whether the holder goes on.
func (h *household) dwell(todo []errand, use func() bool) {
	for _, e := range todo {
		h.run(e)
		if !use() {
			return
		}
	}
}

func (h *household) run(e errand) {
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
		h.user.Do("work", func() string { return fmt.Sprintf("for %v", e.wait) })
		h.user.Wait(e.wait)
	}
}

// call uses another recipe.
func (h *household) call(name string, f func(context.Context) error) {
	ctx, op := h.user.Begin(name, "", true)
	err := f(ctx)
	h.user.End(op, mutationOutcome(err), "", err)
}

// nest takes the second object, uses it and gives it back.
func (h *household) nest() {
	if h.inner == nil {
		h.inner = &secondObject{path: h.path + innerEnding, quit: func() {}}
		made := h.second(h.inner.fence(h.user.Conn()), h.inner.path)
		h.inner.recipe, h.inner.holder, h.inner.take, h.inner.give = made.recipe, made.holder, made.take, made.give
	}
	if got := take(h.user, h.inner.holder, theInner.acquire, h.inner.method()); got != nil {
		h.user.Do("use", func() string { return theInner.noun })
		giveBack(h.user, h.inner.believer, got, theInner.release, h.inner.give, false)
	}
	if h.inner.strayed() {
		h.second = nil
	}
}

// end ends what the errands needed.
func (h *household) end() {
	if h.inner != nil && h.over != nil {
		h.over(h.inner.recipe)
	}
}

// alone tells whether a recipe needs nothing but its path and a recipes.Conn, and shares nothing, so that a user may
// have two.
func (t *terms) alone() bool {
	return t.statics == nil && len(t.beside) == 0 && len(t.setUp) == 0 && t.door == sim.InProcess
}

// inner adds what is wrong with the holds of the second object.
func (j *Judgement) inner(v *View) {
	holds := v.holds(theInner)
	j.Add(exclusion(v, holds, theInner, always)...)
	j.Add(fencing(v, holds, theInner, always)...)
}
