package cover

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/internal/digest"
)

// Sketches add up to that of all hashes, whoever has seen which, in whatever order they are added.
func TestSketchesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(1, 5).Draw(t, "workers")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		bound := rapid.IntRange(1, 100).Draw(t, "bound")
		whole, parts := newSketch(bound), make([]sketch, workers)
		for i := range parts {
			parts[i] = newSketch(bound)
		}
		for episode := range 50 {
			of := &parts[rng.IntN(workers)]
			for range rng.IntN(20) {
				hash := digest.Mix(uint64(rng.IntN(500)))
				whole.note(hash, episode)
				of.note(hash, episode)
			}
		}
		sum := newSketch(bound)
		for _, i := range rng.Perm(workers) {
			sum.merge(parts[i])
		}
		if !reflect.DeepEqual(sum, whole) || len(sum.Seen) > bound {
			t.Fatalf("%+v\nis not\n%+v", sum, whole)
		}
	})
}

// Of more hashes than a sketch keeps it knows how many there are to a few per cent.
func TestSketchEstimates(t *testing.T) {
	s := newSketch(1 << 12)
	const n = 100_000
	for i := range n {
		s.note(digest.Mix(uint64(i)), i)
	}
	if got := s.scaled(len(s.Seen)); math.Abs(float64(got)/n-1) > 0.08 {
		t.Errorf("%d of %d hashes", got, n)
	}
}

// How many of further episodes show something new is what was estimated.
func TestNextIsTrue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.5, 4, 1e6)
	episode := func() (shown []uint64) {
		for range 5 {
			shown = append(shown, digest.Mix(zipf.Uint64()))
		}
		return shown
	}
	const n, further = 2000, 2000
	s := NewSights(StatesMax)
	for i := range n {
		for _, hash := range episode() {
			s.States.note(hash, i*lookedShare)
		}
	}
	fresh := 0
	for range further {
		for _, hash := range episode() {
			if _, seen := s.States.Seen[hash]; !seen {
				fresh++
				break
			}
		}
	}
	if got, want := s.Coverage(n*lookedShare).Next, float64(fresh)/further; math.Abs(got/want-1) > 0.15 {
		t.Errorf("estimated %.3f, and it is %.3f", got, want)
	}
}

// A sentence for an engineer.
func TestCoverageInWords(t *testing.T) {
	const most = "3 of 4 combinations of fault and moment tried (75 %)"
	for _, test := range []struct {
		offered, struck int
		ways            string
		next            float64
		atLeast         bool
		further         string
	}{
		{4, 3, most, 0.123, false, "12 %"},
		{4, 3, most, 0.00123, false, "0.12 %"},
		{4, 3, most, 0.5, true, "at least 50 %"},
		{4, 3, most, 0, false, "fewer than 1.2 %"},
		{0, 0, "no fault could hit an operation", 0, false, "fewer than 1.2 %"},
	} {
		c := Coverage{Episodes: 1000, Offered: test.offered, Struck: test.struck, States: 200, NewStates: 10, Recent: 100,
			Next: test.next, AtLeast: test.atLeast}
		if want := "coverage: " + test.ways + "; 200 states, 10 of them new in the last 100 episodes; " + test.further +
			" of further episodes would show something new"; c.String() != want {
			t.Errorf("%q, want %q", c.String(), want)
		}
	}
}

func TestPlacementsAsText(t *testing.T) {
	p, q := Placement{"loss", "reply lost", "acquire", "", "idle"}, Placement{}
	text, _ := p.MarshalText()
	if err := q.UnmarshalText(text); err != nil || p != q {
		t.Errorf("%q is %+v: %v", text, q, err)
	}
	if q.UnmarshalText([]byte("loss|idle")) == nil {
		t.Error("half a placement is one")
	}
}
