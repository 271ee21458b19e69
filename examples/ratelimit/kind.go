package ratelimit

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Kind specifies rate limiters, for the command in examples/torture.
var Kind = &workload.Kind{
	Name: "ratelimit",
	Promises: []workload.Promise{
		{Names: []string{"overrun"}, Text: fmt.Sprintf("at most %d permits are granted in any %v of the servers' time",
			most, window)},
	},
	Recipes: []workload.Entry{
		{Recipe: "careful", Help: "counts again after its grant, and takes back one too many",
			New: func() *workload.Workload { return workloadOf("careful", New) }},
		{Recipe: "careless", Help: "counts before its grant, on a server that may be behind",
			New: func() *workload.Workload { return workloadOf("careless", NewCareless) }},
	},
}

const (
	most   = 2
	window = 5 * time.Second
)

// asking is an episode: users ask for permits in turns.
type asking struct {
	workload.Script[struct{}]
	new func(recipes.Conn, string, int, time.Duration) *Limiter
}

func workloadOf(recipe string, new func(recipes.Conn, string, int, time.Duration) *Limiter) *workload.Workload {
	return workload.Own("ratelimit", func(p *world.Plan, path string) workload.Episode {
		e := &asking{workload.NewScript[struct{}](p, path), new}
		e.Draw(p, p.Ops, func(*world.Plan, string) (turn struct{}) { return turn })
		return e
	}, workload.Named(recipe))
}

func (e *asking) Run(u workload.User) {
	limiter := e.new(u.Conn(), e.Path, most, window)
	for range e.Turns(u) {
		_, op := u.Begin("allow", "", false)
		granted, at, err := limiter.Allow()
		switch {
		case err != nil:
			u.End(op, world.Fail, "", err)
		case granted:
			u.End(op, world.OK, strconv.FormatInt(at, 10), nil)
		default:
			u.End(op, world.OK, "no", nil)
		}
	}
}

func (e *asking) History(v *workload.View) linearizability.History {
	return v.History(func(op *world.Op, add func(linearizability.Operation)) { add(v.Operation(op)) })
}

// grant is a permit with its time, in milliseconds.
type grant struct {
	op *world.Op
	at int64
}

// Judge checks that no window has more than most grants.
func (e *asking) Judge(v *workload.View) workload.Judgement {
	j := e.Judging(v)
	j.Add(v.Stuck()...)
	j.Add(v.UnexpectedErrors(func(*world.Op) bool { return false })...)
	var grants []grant
	for _, op := range v.Ops {
		if at, err := strconv.ParseInt(op.Result, 10, 64); err == nil {
			grants = append(grants, grant{op, at})
		}
	}
	slices.SortFunc(grants, func(a, b grant) int { return int(a.at - b.at) })
	for i := most; i < len(grants); i++ {
		first, last := grants[i-most], grants[i]
		if took := time.Duration(last.at-first.at) * time.Millisecond; took < window {
			j.Add(sim.Violation{Property: "overrun", Ops: []*world.Op{first.op, last.op}, Message: fmt.Sprintf(
				"%d permits in %v, from %s's at %s to %s's at %s: at most %d in %v were promised",
				most+1, took, workload.Who(first.op), v.When(first.op),
				workload.Who(last.op), v.When(last.op), most, window)})
			break
		}
	}
	v.Left.Values = true // grants stay
	if len(j.Violations) == 0 {
		j.Add(v.Leaks()...)
	}
	j.History = e.History(v)
	return j
}
