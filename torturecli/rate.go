package torturecli

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// With --rate requests wait for their turn, and that must not be taken for a recipe that hangs: fewer rounds
// are under way at a time, and who waits is given more time.

// rateMin is the least number of requests a second.
const rateMin = 1

// pace holds requests back so that there are no more than so many a second, evenly; 0 is no limit. It goes on
// when the run is called off, so that tidying up does not burst.
func pace(perSecond float64) (wait func()) {
	if perSecond == 0 {
		return func() {}
	}
	limiter := rate.NewLimiter(rate.Limit(perSecond), 1)
	return func() { limiter.Wait(context.Background()) }
}

// inTurn sends requests each in its turn, and observes how long that took then.
func inTurn(turn func(), observe func(op string, took time.Duration, err error)) func(op, path string, send func() error) error {
	return func(op, _ string, send func() error) error {
		turn()
		began := time.Now()
		err := send()
		observe(op, time.Since(began), err)
		return err
	}
}

// workersMax is how many rounds are under way at the same time if there is no limit, or a high one.
const workersMax = 8

// perWorker is how many requests a second keep a round busy.
const perWorker = 50

// workers is how many rounds are under way at the same time.
func workers(perSecond float64) int {
	if perSecond == 0 {
		return workersMax
	}
	return int(min(max(perSecond/perWorker, 1), workersMax))
}

// Without a limit somebody who waits for patienceMin waits for ever. Between two operations of a round there
// are at most patienceRequests requests: 32 users with 30 each.
const (
	patienceMin      = 10 * time.Second
	patienceRequests = 1000
)

// patience is how long somebody may wait before it counts as for ever.
func patience(perSecond float64) time.Duration {
	if perSecond == 0 {
		return patienceMin
	}
	return patienceMin + time.Duration(patienceRequests/perSecond*float64(time.Second))
}
