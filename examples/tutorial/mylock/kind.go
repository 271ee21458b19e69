package mylock

import (
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// Kind adds this lock to the locks of the command torture, as the recipe mine.
var Kind = &workload.Kind{Name: "lock", Recipes: []workload.Entry{
	{Recipe: "mine", Help: "the lock of the tutorial", New: tortured},
}}

// tortured is the workload that the lock has to survive. What it guards must not be overrun by a former holder.
func tortured() *workload.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return New(c, path) },
		workload.Named("mine"), workload.JudgeWrites())
}
