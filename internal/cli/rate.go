package cli

import (
	"sync"
	"time"
)

// With --rate requests wait for their turn, which must not look like a recipe that hangs. So fewer rounds run
// concurrently, and timeouts are longer.

// pace delays requests to at most perSecond a second, evenly; 0 is no limit. It goes on after the run is cancelled,
// so that the cleanup does not burst.
func pace(perSecond float64) (wait func()) {
	if perSecond == 0 {
		return func() {}
	}
	var mu sync.Mutex
	var next time.Time
	return func() {
		mu.Lock()
		turn := next
		if now := time.Now(); turn.Before(now) {
			turn = now
		}
		next = turn.Add(time.Duration(float64(time.Second) / perSecond))
		mu.Unlock()
		time.Sleep(time.Until(turn))
	}
}

// inTurn sends requests each in its turn, and observes how long each then took.
func inTurn(turn func(),
	observe func(op string, took time.Duration, err error)) func(op, path string, send func() error) error {
	return func(op, _ string, send func() error) error {
		turn()
		began := time.Now()
		err := send()
		observe(op, time.Since(began), err)
		return err
	}
}

// workersMax is how many rounds run concurrently with no limit, or a high one.
const workersMax = 8

// perWorker is how many requests a second keep a round busy.
const perWorker = 50

// workers is how many rounds run concurrently.
func workers(perSecond float64) int {
	if perSecond == 0 {
		return workersMax
	}
	return int(min(max(perSecond/perWorker, 1), workersMax))
}

// Without a limit an operation that waits for patienceMin counts as waiting for ever. Between two operations of a
// round there are at most patienceRequests requests: 32 users with 30 each.
const (
	patienceMin      = 10 * time.Second
	patienceRequests = 1000
)

// patience is how long an operation may wait before it counts as waiting for ever.
func patience(perSecond float64) time.Duration {
	if perSecond == 0 {
		return patienceMin
	}
	return patienceMin + time.Duration(patienceRequests/perSecond*float64(time.Second))
}
