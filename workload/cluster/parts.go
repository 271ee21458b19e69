package cluster

import (
	"slices"
	"strings"

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
		j.Add(workload.Broken("exclusion", []*world.Op{a.Op, b.Op}, "%s got %s, and %s got %s: both have %s at the same time",
			v.CallWith(a.Op), a.Op.Result, v.CallWith(b.Op), b.Op.Result,
			common(a.Op.Result, b.Op.Result)[0])...)
	}
	j.Beliefs(v)
	j.Add(v.UnexpectedErrors(workload.Gone)...)
}
