package proxy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/zktorture/zktorture/live/ensemble/proxy"
)

// BenchmarkRoundTrip compares a request through the proxy with one without, in turn: added-us is the
// difference of the medians.
func BenchmarkRoundTrip(b *testing.B) {
	s := newServer(b)
	p := newProxy(b, proxy.Config{Servers: []string{s.addr()}})
	go func() {
		for range s.events {
		}
	}()
	direct, through := connected(b, s.addr()), connected(b, p.Addr())
	took := map[*client][]time.Duration{}
	for i := int32(0); b.Loop(); i++ {
		for _, c := range []*client{direct, through} {
			began := time.Now()
			c.request(i, "/a")
			c.replied(i)
			took[c] = append(took[c], time.Since(began))
		}
	}
	median := func(c *client) float64 {
		slices.Sort(took[c])
		return float64(took[c][len(took[c])/2].Nanoseconds()) / 1e3
	}
	b.ReportMetric(median(direct), "direct-us")
	b.ReportMetric(median(through)-median(direct), "added-us")
}
