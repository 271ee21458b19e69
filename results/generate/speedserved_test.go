package main

import (
	"errors"
	"strings"
	"testing"
)

// benched is what benchmarks of fakezk/server print.
const benched = `goos: linux
BenchmarkBesideApache/get/1/apache-2         	    6934	    900000 ns/op
BenchmarkBesideApache/get/1/apache-2         	    6934	    200000 ns/op
BenchmarkBesideApache/get/1/apache-2         	    6934	    100000 ns/op
BenchmarkBesideApache/get/32/apache-2        	   10000	    100000 ns/op
BenchmarkBesideApache/get/1/fake-2           	   45808	     25000 ns/op
BenchmarkBesideApache/get/32/fake            	   45808	     50000 ns/op
BenchmarkSessions-2                          	       1	1097253878 ns/op	       115.9 MB
BenchmarkStart-2                             	    5186	    221392 ns/op
PASS
`

// What is slower than promised, takes more, or was not measured, is no success.
func TestServedSpeedPromised(t *testing.T) {
	err := newServedSpeed(benched).promised()
	if !errors.Is(err, errUnexpected) {
		t.Fatal(err)
	}
	for _, worse := range []string{"get with 32 under way is 2.0 times", "create with 1 under way", "znodes (MB): 0"} {
		if !strings.Contains(err.Error(), worse) {
			t.Errorf("no %q in %v", worse, err)
		}
	}
	for _, good := range []string{"get with 1 ", "start", "sessions"} {
		if strings.Contains(err.Error(), good) {
			t.Errorf("%q in %v", good, err)
		}
	}
	s := newServedSpeed(benched + "BenchmarkZnodes 1 35328085874 ns/op 501 MB\n")
	s.Pairs = s.Pairs[:1]
	if err := s.promised(); err == nil || !strings.Contains(err.Error(), "znodes (MB): 501 of at most 500") {
		t.Error(err)
	}
	s.Znodes = 499
	if err := s.promised(); err != nil {
		t.Error(err)
	}
}
