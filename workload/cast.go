package workload

import (
	"iter"

	"github.com/zktorture/zktorture/sim"
)

// cast is what the episodes of all kinds have: users, and for each of them a script of turns.
type cast[T any] struct {
	path    string
	missing bool  // the znode of the path, when the episode begins
	layout  []int // users by client
	scripts [][]T // by slot; consumed
}

// drawCast draws the users.
func drawCast[T any](p *sim.Plan, path string) cast[T] {
	return cast[T]{path: path, layout: drawUsers(p)}
}

// drawScripts draws a script of one to so many turns for each user.
func (c *cast[T]) drawScripts(p *sim.Plan, most int, draw func(p *sim.Plan, label string) T) {
	for s := range slot(c.layout, len(c.layout), 0) {
		label := planLabel(s)
		script := make([]T, 1+p.Choose(most, label))
		for i := range script {
			script[i] = draw(p, label)
		}
		c.scripts = append(c.scripts, script)
	}
}

// slot is a user's place among all users.
func (c *cast[T]) slot(u user) int { return slot(c.layout, u.client(), u.index()) }

// turns are what is left of a user's script: who begins anew after a crash goes on with the next.
func (c *cast[T]) turns(u user) iter.Seq[T] {
	script := &c.scripts[c.slot(u)]
	return func(yield func(T) bool) {
		for len(*script) > 0 {
			turn := (*script)[0]
			*script = (*script)[1:]
			if !yield(turn) {
				return
			}
		}
	}
}

func (c *cast[T]) users() []int { return c.layout }

func (c *cast[T]) parents() []string {
	if c.missing {
		return []string{parentOf(c.path)}
	}
	return []string{c.path}
}

// bare lets the znode of the path be missing.
func (c *cast[T]) bare() { c.missing = true }

// quiet: nobody may wait for ever.
func (c *cast[T]) quiet(_, _ []*sim.Op) []*sim.Op { return nil }

// oneOf draws one of several turns.
func oneOf[T any](turns ...T) func(p *sim.Plan, label string) T {
	return func(p *sim.Plan, label string) T { return turns[p.Choose(len(turns), label)] }
}
