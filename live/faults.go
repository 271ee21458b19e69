package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/faultset"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// Fault is something that is to happen to one client of a round on real servers, at one of its requests.
type Fault struct {
	Round   int          `json:"round"`   // from 0
	Client  int          `json:"client"`  // from 1
	Request int          `json:"request"` // the n-th of the client in the round, n from 1
	Fault   strike.Fault `json:"fault"`
	Variant string       `json:"variant,omitempty"`
	ForMS   int64        `json:"for_ms,omitempty"` // how long it lasts, in milliseconds, if it does
}

// String returns the fault as in
//
//	c2's request 7: loss after
func (f Fault) String() string {
	text := fmt.Sprintf("c%d's request %d: %s", f.Client, f.Request, strings.TrimSpace(string(f.Fault)+" "+f.Variant))
	if f.ForMS > 0 {
		text += fmt.Sprintf(" for %d ms", f.ForMS)
	}
	return text
}

// Strike is a fault, and what became of it. Stamps are those of the history.
type Strike struct {
	Fault
	At int64 `json:"at,omitempty"` // when it began; 0 if the request never came
	// Struck says that an operation of its client was under way. Otherwise it does not count.
	Struck bool `json:"struck"`
}

// Link is the way between a client and its servers, on which faults strike.
type Link interface {
	// Arm lets the faults of a plan strike at the requests of client 1, counted from now on, and forgets those armed
	// before. For a fault that the link cannot bring about, such as a cancel, it calls begun and does
	// nothing else; for the others it calls begun, too, before it does anything.
	Arm(plan strike.Plan, begun func(strike.Strike))
	// Heal ends all that lasts and forgets what is armed.
	Heal()
	// SessionEnd returns the moment until which a session was surely alive, and whether it may have
	// ended then; false for the client's present session, and for what is not known.
	SessionEnd(id int64) (end time.Time, over bool)
	// SessionGone returns the moment since when a session was surely gone, and whether that is known.
	SessionGone(id int64) (since time.Time, known bool)
}

// The faults that can strike on real servers: clients of this process, clients in processes of their own, and servers.
// With strike.Leader half of those of servers are aimed at the leader; without it they strike whoever they meet.
var (
	ClientFaults  = strike.SetOf(strike.Faults(strike.OnLive)...)
	ProcessFaults = strike.SetOf(strike.Faults(strike.OnProcess)...)
	ServerFaults  = strike.SetOf(strike.Faults(strike.OnEnsemble)...) | strike.SetOf(strike.Leader)
)

// clientWays are the ways of faults of clients, in the order in which a seed draws them.
var clientWays = strike.Ways(strike.OnLive | strike.OnProcess)

// ParseFaults reads a set of faults on real servers, as --faults takes it, see [faultset.Parse]: those of clients and of
// servers. A lag is a server's. Faults that only the simulator has can be left out, and not named.
func ParseFaults(list string) (strike.Set, error) {
	all := ClientFaults | ProcessFaults | ServerFaults
	var simulated world.Faults
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if f, err := world.ParseFault(name); err == nil && !all.Has(strike.Fault(name)) {
			simulated |= f
		}
	}
	if simulated != world.NoFaults {
		return 0, cannotStrike(simulated)
	}
	return faultset.Parse(list, all, func(name string) (strike.Set, error) {
		if _, err := world.ParseFault(name); err != nil && !all.Has(strike.Fault(name)) {
			return 0, fmt.Errorf("unknown fault %q on real servers: there are %v, %v, and the sets all and none",
				name, ClientFaults|ProcessFaults, ServerFaults)
		}
		return all & strike.SetOf(strike.Fault(name)), nil
	})
}

// cannotStrike is the error of faults that cannot strike on real servers.
func cannotStrike(rest fmt.Stringer) error {
	return fmt.Errorf("on real servers %v cannot strike: there are %v of clients, and %v of servers",
		rest, ClientFaults|ProcessFaults, ServerFaults)
}

// checkFaults returns an error that names the faults that cannot strike on real servers, if there are any.
func checkFaults(set strike.Set) error {
	if rest := set &^ (ClientFaults | ProcessFaults | ServerFaults); rest != 0 {
		return cannotStrike(rest)
	}
	return nil
}

// mayMeet are the faults that plans of clients reckon with, in the simulator, which has the same names.
func mayMeet() (set world.Faults) {
	for f := range world.EveryFault.Each() {
		if ClientFaults.Has(strike.Fault(f.String())) {
			set |= f
		}
	}
	return set
}

// Bounds of what is drawn for a round.
const (
	faultsMax  = 3  // of one round
	requestMax = 16 // the last request of a client at which a fault may strike
)

// durations are what a fault that lasts may take: much less than a session's timeout, less, and more.
func durations(session time.Duration) []time.Duration {
	return []time.Duration{session / 20, session / 4, session / 4, session * 3 / 2}
}

// durationsOf are what a fault may take. A pause is told from a slow answer only by those who outlive its session.
func durationsOf(w strike.Way, session time.Duration) []time.Duration {
	all := durations(session)
	if w.Fault == strike.Pause {
		return all[len(all)-2:]
	}
	return all
}

// drawFaults draws what is to happen in a round from its number: each round has its own subset of the faults
// (swarm testing: Groce and others, 2012), and seldom more than one or two strike.
func drawFaults(seed uint64, round, clients int, allowed strike.Set, session time.Duration) []Fault {
	draw := sim.NewRandomSource(seed^faultSalt, uint64(round))
	var possible []int
	for i, w := range clientWays {
		if allowed.Has(w.Fault) && draw.Choose(2, "may it strike") == 1 {
			possible = append(possible, i)
		}
	}
	var faults []Fault
	for range draw.Choose(faultsMax+1, "faults") {
		if len(possible) == 0 {
			break
		}
		w := clientWays[possible[draw.Choose(len(possible), "which fault")]]
		f := Fault{
			Round: round, Client: 1 + draw.Choose(clients, "client"), Request: 1 + draw.Choose(requestMax, "request"),
			Fault: w.Fault, Variant: w.Variant,
		}
		if w.Most > 0 {
			lasts := durationsOf(w, session)
			f.ForMS = lasts[draw.Choose(len(lasts), "for")].Milliseconds()
		}
		faults = append(faults, f)
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Or(a.Client-b.Client, a.Request-b.Request) })
	return faults
}

// faultSalt keeps the draws of faults apart from those of what clients do.
const faultSalt = 0x6661756c7473

// clientsMax is how many clients a round may have.
const clientsMax = 16
