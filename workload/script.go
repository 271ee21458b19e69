package workload

import (
	"iter"
	"slices"

	"github.com/zktorture/zktorture/sim/world"
)

// Script is the part of an [Episode] that most kinds share: users, and for each of them a list of turns, of whatever
// type describes a turn. Embed it, and write Run, Judge and History.
type Script[T any] struct {
	Path    string // the object's
	Missing bool   // its znode is not there when the episode begins; its parent is
	// Drains says that the first user does something of its own when all others have finished, see [Script.Last].
	Drains bool

	terms  terms // on which the recipe is judged
	make   maker // of its workload, see [Workload.Making]
	layout []int // users by client
	turns  [][]T // by slot; consumed
	fresh  *finalOps
	plan   *world.Plan // nil if it was not drawn
}

// NewScript draws how many clients there are, and how many users share the session of each.
func NewScript[T any](p *world.Plan, path string) Script[T] {
	return Script[T]{Path: path, layout: drawUsers(p), plan: p}
}

// planScript is a script with turns as [Script.Draw] draws them. The object's znode is missing in one of missing
// episodes.
func planScript[T any](p *world.Plan, path string, missing int, draw func(p *world.Plan, label string) T) Script[T] {
	c := NewScript[T](p, path)
	c.Missing = p.Choose(missing, "the parent is missing") == missing-1
	c.Draw(p, p.Ops, draw)
	c.Afresh(p)
	return c
}

// Draw draws from one turn to most turns for each user. draw draws a turn, with the label that it is given.
func (c *Script[T]) Draw(p *world.Plan, most int, draw func(p *world.Plan, label string) T) {
	slots := slot(c.layout, len(c.layout), 0)
	c.turns = slices.Grow(c.turns, slots)
	for s := range slots {
		label := world.PlanLabel(s)
		script := make([]T, p.Turns(most, label))
		for i := range script {
			script[i] = draw(p, label)
		}
		c.turns = append(c.turns, script)
	}
}

// Slot is a user's place among all users.
func (c *Script[T]) Slot(u User) int { return slot(c.layout, u.Client(), u.Index()) }

// Turns are what is left of a user's script: a user that begins anew after a crash goes on with the next.
func (c *Script[T]) Turns(u User) iter.Seq[T] {
	script := &c.turns[c.Slot(u)]
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

// Last waits until all others have finished, if it is the first user's of a script that drains, and reports whether it
// is.
func (c *Script[T]) Last(u User) bool {
	first := c.Drains && c.Slot(u) == 0
	if first {
		u.AwaitOthers()
	}
	return first
}

// Users implements [Episode].
func (c *Script[T]) Users() []int { return c.layout }

// Parents implements [Episode].
func (c *Script[T]) Parents() []string {
	parents := []string{c.Path}
	if c.Missing && !c.terms.within() {
		parents = []string{parentOf(c.Path)}
		if c.terms.existing {
			return parents // what would be beside it is missing, too
		}
	}
	for _, ending := range c.terms.beside {
		parents = append(parents, c.Path+ending)
	}
	return parents
}

// agree puts the episode on the terms of its workload, whose recipes new makes.
func (c *Script[T]) agree(t terms, new maker) {
	c.terms, c.Missing = t, c.Missing || !t.existing
	if new != nil { // not of an episode that another workload has planned
		c.make = new
	}
}

// Make makes a user's recipe, for a workload that says how ([Workload.Making]).
func (c *Script[T]) Make(u User) any { return c.make(u.Conn(), c.Path) }

// Over ends a user's part: what it was given is closed, if it has to be ([Closing]).
func (c *Script[T]) Over(u User, recipe any) {
	if !c.terms.closes {
		return
	}
	if knows, can := u.(interface{ Closes(begins bool) }); can {
		knows.Closes(true)
		defer knows.Closes(false)
	}
	switch r := recipe.(type) {
	case interface{ Close() }:
		r.Close()
	case interface{ Close() error }:
		r.Close()
	}
}

// AtDeath has what a user was given closed, if it has to be, when its process has died: by over, as at the end of Run.
func (c *Script[T]) AtDeath(u User, over func()) {
	if dying, can := u.(interface{ AtDeath(func()) }); can && c.terms.closes {
		dying.AtDeath(over)
	}
}

// Judging begins a judgement, in which what the recipe's options waive is not judged.
func (c *Script[T]) Judging(v *View) Judgement {
	v.terms = &c.terms
	j := Judgement{terms: &c.terms}
	j.unusable(c.fresh)
	if _, known := v.World.(simWorld); !known && c.plan != nil && len(c.plan.Follows) > 0 {
		j.NotJudged = append(j.NotJudged, "deaf", "diverged")
	}
	return j
}

// Rest waits until everything is at rest: all faults are over, and nothing has moved for longer than any back-off takes,
// as all other users have finished, or rest, or wait as they may for ever. Then it is the time to ask, and to compare:
// what the servers have, and what watchers were told, is what it ought to be. It returns false if the world does not know
// when it is at rest. The wait is an operation "rest". A kind that has its own MayWaitForever adds those of the Script.
func (c *Script[T]) Rest(u User) (known bool) {
	known = u.AwaitLiveness()
	ctx, op := u.Begin(resting, "", false)
	<-ctx.Done()
	u.End(op, world.OK, "", nil)
	return known
}

const resting = "rest"

// MayWaitForever implements [Episode]: no operation may, but for [Script.Rest].
func (c *Script[T]) MayWaitForever(_, waiting []*world.Op) []*world.Op {
	return still(waiting, resting)
}

// OneOf draws one of several turns, each of which is a part of its own.
func OneOf[T any](turns ...T) func(p *world.Plan, label string) T {
	return func(p *world.Plan, label string) T { return turns[p.Part(len(turns), label)] }
}
