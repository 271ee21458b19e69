package linearizability

import "math/rand/v2"

func init() {
	enter(contender{model: Queue(), fresh: func() sequential { return new(seriesQueue) }, wild: wildQueue,
		own: drawHeads, ops: 10})
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
		q.drawn, q.peeks, q.offers = true, []float64{0, 0.15, 0.3, 0.5}[r.IntN(4)], []float64{0.4, 0.5, 0.6}[r.IntN(3)]
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

// drawHeads draws a few values that are offered and seen at about the same time, by many clients, so
// that it is hard to say which has to go before which.
func drawHeads(r *rand.Rand) History {
	var h History
	during := func(op Operation, from, width int64) {
		op.Client, op.Call = len(h), from+r.Int64N(width)
		op.Return = op.Call + r.Int64N(width)
		if r.IntN(12) == 0 {
			op.Outcome, op.Return = Unknown, Forever
		}
		h = append(h, op)
	}
	for v := range 2 + r.Int64N(2) {
		during(Operation{Op: "offer", Arg: Int(v)}, 0, 6)
		for range r.IntN(3) {
			during(Operation{Op: "peek", Result: Int(v)}, 4, 14)
		}
		if r.IntN(8) > 0 {
			during(Operation{Op: "poll", Result: Int(v)}, 4, 20)
		}
	}
	if r.IntN(4) == 0 {
		during(Operation{Op: "poll"}, 0, 20)
	}
	sortByCall(h)
	return h
}
