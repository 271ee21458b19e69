package stepper

import (
	"slices"
	"testing"
)

// A session is ended by way of the servers that are named, and else of all but the client's.
func TestOthers(t *testing.T) {
	s := &Stepper{servers: []string{"a", "b", "c"}, changed: make(chan struct{})}
	s.Route(1)
	if got := s.others([]int{2, 0}); !slices.Equal(got, []string{"c", "a"}) {
		t.Error(got)
	}
	if got := s.others(nil); !slices.Equal(got, []string{"c", "a"}) {
		t.Error(got)
	}
	if got := s.others([]int{0}); !slices.Equal(got, []string{"a"}) {
		t.Error(got)
	}
}
