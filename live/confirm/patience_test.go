package confirm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// slowly is a connection that takes so long to answer.
type slowly struct {
	recipes.Conn
	answer time.Duration
}

func (s slowly) Exists(string) (bool, *zk.Stat, error) {
	time.Sleep(s.answer)
	return true, nil, nil
}

// A step has its time, more with a server that is slow, and never more than servers may be away.
func TestEndLate(t *testing.T) {
	const least = 3 * time.Second
	for answer, want := range map[time.Duration]time.Duration{
		time.Millisecond: least, 200 * time.Millisecond: 10 * time.Second, time.Second: 50 * time.Second,
		10 * time.Second: awayMax,
	} {
		synctest.Test(t, func(t *testing.T) {
			turn, end := context.WithCancel(t.Context())
			began := time.Now()
			endLate(turn, end, least, []recipes.Conn{slowly{}, slowly{answer: answer}})
			took := time.Since(began)
			if turn.Err() == nil || took < want || took > want+least/10+answer {
				t.Errorf("answers after %v: it ended after %v, want %v: %v", answer, took, want, turn.Err())
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		turn, end := context.WithCancel(t.Context())
		end()
		endLate(turn, func() { t.Error("it had ended before") }, least, nil)
	})
}
