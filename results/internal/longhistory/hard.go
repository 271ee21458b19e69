package longhistory

import (
	"fmt"
	"io"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
)

// WriteHard writes a history of a priority queue that only its monitor can decide. n values of one priority are
// offered concurrently and removed concurrently, in any of n! orders. Two more come out in the wrong order
// afterwards, and polls of unknown outcome may have taken any value at any time.
func WriteHard(w io.Writer, n int) error {
	var h linearizability.History
	add := func(client int, op string, name any, call, end int64) {
		value := linearizability.Str(fmt.Sprintf("1:%v", name))
		o := linearizability.Operation{Client: client, Op: op, Call: call, Return: end}
		switch {
		case end == linearizability.Forever:
			o.Outcome = linearizability.Unknown
		case op == "offer":
			o.Arg = value
		default:
			o.Result = value
		}
		h = append(h, o)
	}
	for i := range n {
		add(i, "offer", i, 1, 10)
		add(i, "poll", i, 20, 30)
		add(n+1+i, "poll", nil, 15, linearizability.Forever)
	}
	add(n, "offer", "a", 11, 12)
	add(n, "offer", "b", 13, 14)
	add(n, "poll", "b", 31, 32)
	add(n, "poll", "a", 33, 34)
	return histories.Write(w, h)
}
