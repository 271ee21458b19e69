package longhistory

import (
	"strconv"

	"github.com/zktorture/zktorture/linearizability"
)

// queue is a queue of about backlog values.
type queue struct {
	*drawing
	offered int64
	values  []value
	quiet   int64 // nothing is removed before it
}

// value is a value in the queue with the time of its offer; sure if that is known.
type value struct {
	number int64
	span
	sure bool
}

// backlog is the number of values at which offers and removals balance.
const backlog = 50

func (q *queue) next(client int) {
	switch r := q.random.Float64(); {
	case r < q.Peeks:
		q.add(client, q.around(client), linearizability.Operation{Op: "peek", Result: q.head()})
	case q.now < q.quiet || q.random.IntN(2*backlog) >= len(q.values)+1 && r < 0.8:
		q.offer(client)
	case q.due() && q.overtake(client):
		q.Planted = false
	default:
		q.poll(client)
	}
}

func (q *queue) head() linearizability.Value {
	if len(q.values) == 0 {
		return linearizability.Null
	}
	return q.name(q.values[0].number)
}

// name is the value of a number.
func (q *queue) name(number int64) linearizability.Value {
	if q.Texts {
		return linearizability.Str("v" + strconv.FormatInt(number, 10))
	}
	return linearizability.Int(number)
}

func (q *queue) offer(client int) {
	s := q.around(client)
	q.offered++
	op := linearizability.Operation{Op: "offer", Arg: q.name(q.offered)}
	lost := q.unknown()
	if lost {
		op.Outcome = linearizability.Unknown
	}
	if !lost || q.random.IntN(2) == 0 {
		q.values = append(q.values, value{q.offered, s, !lost})
	}
	q.add(client, s, op)
}

func (q *queue) poll(client int) {
	op := linearizability.Operation{Op: "poll", Result: q.head()}
	lost := q.unknown()
	if lost {
		op.Outcome, op.Result = linearizability.Unknown, linearizability.Null
	}
	if len(q.values) > 0 && (!lost || q.random.IntN(2) == 0) {
		q.values = q.values[1:]
	}
	q.add(client, q.around(client), op)
}

// overtake removes a value that is surely behind another, and then the other.
func (q *queue) overtake(client int) bool {
	for i, v := range q.values {
		if first := q.values[0]; first.sure && v.sure && first.end < v.call {
			s := q.around(client)
			q.add(client, s, linearizability.Operation{Op: "poll", Result: q.name(v.number)})
			q.values = append(q.values[:i:i], q.values[i+1:]...)
			q.quiet = s.end + 2*spread
			return true
		}
	}
	return false
}
