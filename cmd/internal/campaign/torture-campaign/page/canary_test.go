package page

import (
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
)

// known is the rate of the zoo's canary.
const known = 1.0 / 64

// ever is the exact probability that a canary of some rate is ever heard so, if one listens after each episode.
func ever(rate float64, want song) (p float64) {
	const most = 400 // above that it is heard as too often
	row := make([]float64, most+1)
	row[0] = 1
	for n := 1; n <= campaign.CanaryEpisodes; n++ {
		for k := min(n, most); k > 0; k-- {
			if row[k] = row[k]*(1-rate) + row[k-1]*rate; row[k] < 1e-30 {
				row[k] = 0
			}
		}
		row[0] *= 1 - rate
		if want == songRare {
			for k := 0; k <= n && listen(n, k, known) == songRare; k++ {
				p, row[k] = p+row[k], 0
			}
			continue
		}
		for k := min(n, most); k >= 0 && listen(n, k, known) == songOften; k-- {
			p, row[k] = p+row[k], 0
		}
	}
	return p
}

// at is the exact probability that a canary of some rate is heard so after some episodes.
func at(n int, rate float64, want song) (p float64) {
	row := make([]float64, n+1)
	row[0] = 1
	for i := 1; i <= n; i++ {
		for k := i; k > 0; k-- {
			row[k] = row[k]*(1-rate) + row[k-1]*rate
		}
		row[0] *= 1 - rate
	}
	for k, share := range row {
		if listen(n, k, known) == want {
			p += share
		}
	}
	return p
}

// A right canary, even at the edge of what is right, is doubted less often than once in a million campaigns, though one
// looks after every episode. Such a probability is no accident of a test that doubts nobody: see TestWrongCanaries.
func TestRightCanaries(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		wrong song
	}{{known / canaryFactor, songRare}, {known * canaryFactor, songOften}} {
		p := ever(c.rate, c.wrong)
		t.Logf("rate 1/%.0f, heard as %d: %.3g", 1/c.rate, c.wrong, p)
		if p > 5e-7 {
			t.Errorf("a canary of rate 1/%.0f is heard as %d with a probability of %.3g", 1/c.rate, c.wrong, p)
		}
	}
	if p := at(campaign.CanaryEpisodes, known, songRight); p < 1-1e-6 {
		t.Errorf("a canary of its rate is right after %d episodes with a probability of %.8f alone",
			campaign.CanaryEpisodes, p)
	}
}

// A canary that is never found, or ten times too rarely or too often, is red after as many episodes as a campaign
// runs it for, and not called right before.
func TestWrongCanaries(t *testing.T) {
	if heard := listen(campaign.CanaryEpisodes, 0, known); heard != songRare {
		t.Errorf("a canary that is never found is heard as %d", heard)
	}
	if heard := listen(campaign.CanaryEpisodes, campaign.CanaryEpisodes, known); heard != songOften {
		t.Errorf("a canary that is always found is heard as %d", heard)
	}
	for n := 100; n <= campaign.CanaryEpisodes; n += 900 {
		if p := at(n, known/canaryFar, songRight) + at(n, known*canaryFar, songRight); p > 1e-6 {
			t.Errorf("a wrong canary is right after %d episodes with a probability of %.3g", n, p)
		}
	}
	for _, c := range []struct {
		rate  float64
		want  song
		least float64
	}{{known / 20, songRare, 0.999}, {known / canaryFar, songRare, 0.9}, {known * canaryFar, songOften, 0.999999}} {
		p := at(campaign.CanaryEpisodes, c.rate, c.want)
		t.Logf("rate 1/%.0f after %d episodes is heard as %d: %.6f", 1/c.rate, campaign.CanaryEpisodes, c.want, p)
		if p < c.least {
			t.Errorf("it is to be heard with a probability of %v", c.least)
		}
	}
}

// Too few episodes say nothing.
func TestShortSongs(t *testing.T) {
	for n := range 64 {
		for k := range min(n, 3) + 1 {
			if heard := listen(n, k, known); heard != songUnknown {
				t.Errorf("%d of %d are heard as %d", k, n, heard)
			}
		}
	}
}
