package linearizability

import "math/rand/v2"

func init() {
	enter(contender{model: Queue(), fresh: func() sequential { return new(seriesQueue) }, wild: wildQueue, ops: 10})
}

// seriesQueue runs the operations of a queue one at a time. Its share of peeks, and whether it is
// rather full or rather empty, is drawn once.
type seriesQueue struct {
	values        []Value
	offered       int64
	peeks, offers float64 // the share of peeks, and of offers among the rest
	drawn         bool
	backlog       int // how many values it holds on average, if that is to be steered
}

func (q *seriesQueue) run(r *rand.Rand, _ int) (Operation, bool) {
	if !q.drawn {
		q.drawn, q.peeks, q.offers = true, 0.3*float64(r.IntN(3))/2, []float64{0.4, 0.5, 0.6}[r.IntN(3)]
	}
	if q.backlog > 0 {
		q.offers = 0.5 + 0.5*float64(q.backlog-len(q.values))/float64(q.backlog)
	}
	head := Null
	if len(q.values) > 0 {
		head = q.values[0]
	}
	switch {
	case r.Float64() < q.peeks:
		return Operation{Op: "peek", Result: head}, true
	case r.Float64() < q.offers:
		q.offered++
		q.values = append(q.values, Int(q.offered))
		return Operation{Op: "offer", Arg: Int(q.offered)}, true
	case head == Null:
		return Operation{Op: "poll"}, true
	}
	q.values = q.values[1:]
	return Operation{Op: []string{"poll", "take"}[r.IntN(2)], Result: head}, true
}

// ghost offers a value that nobody will see, or would remove what is there now.
func (q *seriesQueue) ghost(r *rand.Rand) Operation {
	switch {
	case r.IntN(2) == 0:
		q.offered++
		return Operation{Op: "offer", Arg: Int(q.offered)}
	case len(q.values) > 0:
		return Operation{Op: "poll", Result: q.values[r.IntN(min(3, len(q.values)))]}
	}
	return Operation{Op: "poll"}
}

func wildQueue(r *rand.Rand) Operation {
	value := Int(r.Int64N(4))
	switch r.IntN(5) {
	case 0, 1:
		return Operation{Op: "offer", Arg: value}
	case 2:
		return Operation{Op: "peek", Result: []Value{Null, value}[r.IntN(2)]}
	case 3:
		return Operation{Op: "poll"}
	}
	return Operation{Op: "poll", Result: value}
}
