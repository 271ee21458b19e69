package page

import (
	"fmt"
	"math"

	"github.com/zktorture/zktorture/zoo"
)

// A canary is to be found in a known share of the episodes, within a factor of two. Its count is looked at again and
// again while the campaign runs, so a test of the last count alone would raise false alarms. What is asked instead is
// how much likelier the count is under a mixture of rates that are wrong than under the nearest one that is right: of
// a right canary that ratio ever reaches x with a probability of at most 1/x, however often one looks (Ville 1939;
// Wald, "Sequential Tests of Statistical Hypotheses", Annals of Mathematical Statistics 16, 1945).

// canaryFactor is how far the rate of a right canary may be from the known one, and canaryFar how far that of a canary
// must not be which is called right.
const (
	canaryFactor = 2
	canaryFar    = 10
)

// canaryDoubt is the logarithm of the ratio that is enough: each of the two sides is wrong with a probability of at
// most 5·10⁻⁷.
var canaryDoubt = math.Log(2e6)

// song is what the count of a canary says.
type song int

const (
	songUnknown song = iota // too few episodes
	songRight
	songRare
	songOften
)

// listen judges the count of a canary: in times of so many episodes it was found.
func listen(episodes, times int, rate float64) song {
	low, high := rate/canaryFactor, rate*canaryFactor
	rarest, most := rate/canaryFar, rate*canaryFar
	switch {
	case against(low, below, episodes, times):
		return songRare
	case high < 1 && against(high, above, episodes, times):
		return songOften
	case against(rarest, above, episodes, times) && (most >= 1 || against(most, below, episodes, times)):
		return songRight
	}
	return songUnknown
}

// mixed is how many rates a mixture has.
const mixed = 8

// below and above are the rates of a mixture on either side of one, in shares of what is there.
func below(rate float64, i int) float64 { return rate * float64(i) / mixed }
func above(rate float64, i int) float64 { return rate + (1-rate)*math.Pow(2, float64(i-mixed)) }

// against reports whether a count speaks against a rate, and against all that are further from the mixture.
func against(rate float64, mixture func(rate float64, i int) float64, episodes, times int) bool {
	ratios, most := [mixed]float64{}, math.Inf(-1)
	for i := range ratios {
		other := mixture(rate, i)
		ratios[i] = scaled(times, math.Log(other/rate)) + scaled(episodes-times, math.Log((1-other)/(1-rate)))
		most = max(most, ratios[i])
	}
	sum := 0.0
	for _, r := range ratios {
		sum += math.Exp(r - most)
	}
	return most+math.Log(sum/mixed) >= canaryDoubt
}

// scaled is n times a logarithm, which may be that of 0.
func scaled(n int, log float64) float64 {
	if n == 0 {
		return 0
	}
	return float64(n) * log
}

// canary is a canary's count.
type canary struct {
	name            string
	episodes, times int
	rate            float64 // known
}

// countOf is the count of an animal's job; nil if it has no known rate.
func countOf(id, name string, episodes int, found func(property string) int) *canary {
	animals, err := zoo.Find([]string{id})
	if err != nil || animals[0].Rate == 0 {
		return nil
	}
	a := animals[0]
	return &canary{name, episodes, found(a.Property), a.Rate}
}

// trouble is why a campaign is red; "" if it is not.
func (c *canary) trouble(ended bool) string {
	seen := fmt.Sprintf("it was found in %d of %d episodes, and should be in about %.2g %%", c.times, c.episodes,
		100*c.rate)
	switch s := listen(c.episodes, c.times, c.rate); {
	case s == songRare:
		return fmt.Sprintf("The canary is missed (%s): %s. That nothing else was found proves nothing: "+
			"run torture zoo with the build of the workers, and fix what misses it.", c.name, seen)
	case s == songOften:
		return fmt.Sprintf("The canary is found too often (%s): %s. Other findings prove nothing: "+
			"run torture zoo with the build of the workers, and fix what accuses it.", c.name, seen)
	case s == songUnknown && ended:
		return fmt.Sprintf("It is not known whether the canary is found at its rate (%s): %s, which is too few episodes "+
			"to tell: give the campaign more time.", c.name, seen)
	}
	return ""
}

// word says how the canary stands.
func (c *canary) word() string {
	words := [...]string{"not known yet", "found at its rate", "found too rarely", "found too often"}
	return words[listen(c.episodes, c.times, c.rate)]
}
