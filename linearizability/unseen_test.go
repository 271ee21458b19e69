package linearizability

import "testing"

// Items are numbered before those that nobody saw are left out, so that their numbers may exceed the steps that
// are left.
func TestQueueWithoutWhatNobodySaw(t *testing.T) {
	offer := func(client int, value, call, ret int64) Operation {
		return Operation{Client: client, Op: "offer", Arg: Int(value), Call: call, Return: ret}
	}
	h := History{
		{Client: 1, Op: "poll", Outcome: Unknown, Call: 0, Return: 36},
		offer(0, 1, 27, 33), offer(2, 2, 33, 49), offer(3, 3, 35, 50), offer(4, 6, 35, 36), offer(5, 4, 48, 62),
		{Client: 3, Op: "peek", Result: Int(1), Call: 50, Return: 58},
		offer(6, 5, 53, 99), {Client: 3, Op: "poll", Call: 59, Return: 77},
		offer(7, 7, 62, 71), offer(8, 8, 68, 99), offer(9, 9, 73, 76),
	}
	for _, i := range []int{2, 4, 7, 9, 10} {
		h[i].Outcome = Unknown
	}
	if v := Check(Queue(), h, Options{})[0]; v.Outcome != Violation {
		t.Error(v)
	}
}
