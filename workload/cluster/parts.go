package cluster

import (
	"errors"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// What numbers and shards have in common: each user holds some of many things, and no two hold the same.

// common are the things that two lists of names have in common.
func common(a, b string) []string {
	others := strings.Fields(b)
	return slices.DeleteFunc(strings.Fields(a), func(name string) bool { return !slices.Contains(others, name) })
}

// judgeParts adds what is wrong with the holds of a role, and with what all kinds are judged by.
func judgeParts(j *workload.Judgement, v *workload.View, of workload.Role) {
	meet := func(a, b workload.Hold) bool { return len(common(a.Op.Result, b.Op.Result)) > 0 }
	if a, b, found := workload.Overlaps(v.Holds(of), meet); found {
		j.Add(broken("exclusion", []*world.Op{a.Op, b.Op}, "%s got %s, and %s got %s: both have %s at the same time",
			called(v, a.Op), a.Op.Result, called(v, b.Op), b.Op.Result,
			common(a.Op.Result, b.Op.Result)[0])...)
	}
	j.Beliefs(v)
	j.Add(v.UnexpectedErrors(gone)...)
}

// gone reports whether an operation has failed because nothing was held, or not any more.
func gone(op *world.Op) bool {
	return errors.Is(op.Err, recipes.ErrLost) || errors.Is(op.Err, recipes.ErrNotHeld)
}
