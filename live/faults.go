package live

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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
	// Arm lets faults strike at the client's requests, counted from now on, and forgets those armed
	// before. For a fault that the link cannot bring about, such as a cancel, it calls begun and does
	// nothing else; for the others it calls begun, too, before it does anything.
	Arm(faults []Fault, begun func(Fault))
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
	ServerFaults  = asListed(strike.Faults(strike.OnEnsemble)...) | strike.SetOf(strike.Leader)
)

// clientWays are the ways of faults of clients, in the order in which a seed draws them.
var clientWays = strike.Ways(strike.OnLive | strike.OnProcess)

// asListed are the faults that users list for some.
func asListed(some ...strike.Fault) (set strike.Set) {
	for _, f := range some {
		set |= strike.SetOf(f.Listed())
	}
	return set
}

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

// FaultPlan says what is to happen in each round, and to the servers meanwhile.
type FaultPlan struct {
	Rounds  map[int][]Fault
	Servers []ServerFault
}

// Faults are those that the plan has.
func (p *FaultPlan) Faults() (set strike.Set) {
	for _, f := range slices.Concat(slices.Collect(maps.Values(p.Rounds))...) {
		set |= strike.SetOf(f.Fault)
	}
	for _, f := range p.Servers {
		set |= f.under()
	}
	return set
}

// ReadFaultPlan reads a plan: one fault a line, as a run records them. What a line says about what became of
// the fault is passed over. The error names the line.
func ReadFaultPlan(r io.Reader) (*FaultPlan, error) {
	plan := &FaultPlan{Rounds: map[int][]Fault{}}
	in := bufio.NewScanner(r)
	for line := 1; in.Scan(); line++ {
		if text := bytes.TrimSpace(in.Bytes()); len(text) > 0 {
			if err := plan.add(text); err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
		}
	}
	return plan, in.Err()
}

// add reads a line: only faults of servers name one.
func (p *FaultPlan) add(line []byte) error {
	var of struct {
		Server *string `json:"server"`
	}
	if json.Unmarshal(line, &of) == nil && of.Server != nil {
		var s ServerStrike
		if err := strictly(line, &s); err != nil {
			return err
		}
		if err := s.ServerFault.check(); err != nil {
			return err
		}
		p.Servers = append(p.Servers, s.ServerFault)
		return nil
	}
	var s Strike
	if err := strictly(line, &s); err != nil {
		return err
	}
	if err := s.Fault.check(); err != nil {
		return err
	}
	p.Rounds[s.Round] = append(p.Rounds[s.Round], s.Fault)
	return nil
}

// strictly reads an object that has no other keys.
func strictly(line []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// check returns an error for a fault that cannot be.
func (f Fault) check() error {
	_, known := strike.Find(clientWays, f.Fault, f.Variant)
	switch {
	case !known:
		return fmt.Errorf("there is no fault %q with the variant %q on real servers", f.Fault, f.Variant)
	case f.Round < 0 || f.Client < 1 || f.Client > clientsMax || f.Request < 1:
		return fmt.Errorf("round %d, client %d, request %d: rounds count from 0, clients and requests from 1, "+
			"and there are at most %d clients", f.Round, f.Client, f.Request, clientsMax)
	case f.ForMS < 0 || f.ForMS > lastMax.Milliseconds():
		return fmt.Errorf("a fault lasts %d ms: 0 to %d are possible", f.ForMS, lastMax.Milliseconds())
	}
	return nil
}

// Bounds of a plan.
const (
	clientsMax = 16
	lastMax    = time.Minute
)
