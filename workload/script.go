package workload

import (
	"iter"
	"slices"

	"github.com/zktorture/zktorture/sim"
)

// Script is the part of an [Episode] that most kinds share: users, and for each of them a list of turns, of whatever
// type describes a turn. Embed it, and write Run, Judge and History.
type Script[T any] struct {
	Path    string // the object's
	Missing bool   // its znode is not there when the episode begins; its parent is
	terms   terms  // on which the recipe is judged
	layout  []int  // users by client
	turns   [][]T  // by slot; consumed
	fresh   *freshness
}

// NewScript draws how many clients there are, and how many users share the session of each.
func NewScript[T any](p *sim.Plan, path string) Script[T] {
	return Script[T]{Path: path, layout: drawUsers(p)}
}

// planScript is a script with turns as [Script.Draw] draws them. The object's znode is missing in one of missing
// episodes.
func planScript[T any](p *sim.Plan, path string, missing int, draw func(p *sim.Plan, label string) T) Script[T] {
	c := NewScript[T](p, path)
	c.Missing = p.Choose(missing, "the parent is missing") == missing-1
	c.Draw(p, p.Ops, draw)
	c.fresh = &freshness{drawn: p.Afresh()}
	return c
}

// Draw draws from one turn to most turns for each user. draw draws a turn, with the label that it is given.
func (c *Script[T]) Draw(p *sim.Plan, most int, draw func(p *sim.Plan, label string) T) {
	slots := Slot(c.layout, len(c.layout), 0)
	c.turns = slices.Grow(c.turns, slots)
	for s := range slots {
		label := sim.PlanLabel(s)
		script := make([]T, p.Turns(most, label))
		for i := range script {
			script[i] = draw(p, label)
		}
		c.turns = append(c.turns, script)
	}
}

// Slot is a user's place among all users.
func (c *Script[T]) Slot(u User) int { return Slot(c.layout, u.Client(), u.Index()) }

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

// agree puts the episode on the terms of its workload.
func (c *Script[T]) agree(t terms) {
	c.terms = t
	c.Missing = c.Missing || !t.existing
}

// Over ends a user's part: what it was given is closed, if it has to be ([Closing]).
func (c *Script[T]) Over(recipe any) {
	if !c.terms.closes {
		return
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
	j.unusable(v, c.fresh)
	return j
}

// MayWaitForever implements [Episode]: no operation may.
func (c *Script[T]) MayWaitForever(_, _ []*sim.Op) []*sim.Op { return nil }

// oneOf draws one of several turns, each of which is a part of its own.
func oneOf[T any](turns ...T) func(p *sim.Plan, label string) T {
	return func(p *sim.Plan, label string) T { return turns[p.Part(len(turns), label)] }
}
