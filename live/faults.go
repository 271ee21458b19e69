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

	"github.com/zktorture/zktorture/sim"
)

// Fault is something that is to happen to one client of a round on real servers, at one of its requests.
type Fault struct {
	Round   int    `json:"round"`   // from 0
	Client  int    `json:"client"`  // from 1
	Request int    `json:"request"` // the n-th of the client in the round, n from 1
	Fault   string `json:"fault"`   // a name of [sim.Faults]
	Variant string `json:"variant,omitempty"`
	ForMS   int64  `json:"for_ms,omitempty"` // how long it lasts, in milliseconds, if it does
}

// String returns the fault as in
//
//	c2's request 7: loss after
func (f Fault) String() string {
	text := fmt.Sprintf("c%d's request %d: %s", f.Client, f.Request, strings.TrimSpace(f.Fault+" "+f.Variant))
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

// liveVariant is a way in which a fault can strike on real servers. One that lasts says how long.
type liveVariant struct {
	fault         sim.Faults
	name, variant string
	lasts         bool
}

var liveVariants = []liveVariant{
	{sim.Loss, "loss", "before", false}, {sim.Loss, "loss", "after", false}, {sim.Loss, "loss", "later", false},
	{sim.Loss, "loss", "silence", true}, {sim.Loss, "loss", "half", true},
	{sim.Loss, "loss", "answer", false},
	{sim.Expiry, "expiry", "before", false}, {sim.Expiry, "expiry", "after", false},
	{sim.Expiry, "expiry", "answer", false}, {sim.Expiry, "expiry", "unaware", true},
	{sim.Watch, "watch", "held", true}, {sim.Watch, "watch", "lost", false},
	{sim.Cancel, "cancel", "", false},
	{sim.Reap, "reap", "", false},
	{sim.Pause, "pause", "", true}, {sim.Pause, "pause", "later", true},
	{sim.Crash, "crash", "", false}, {sim.Crash, "crash", "later", false},
}

// ProcessFaults are the faults that strike only clients in processes of their own.
const ProcessFaults = sim.Pause | sim.Crash

// ClientFaults are the faults that can strike clients of this process on real servers.
func ClientFaults() (all sim.Faults) {
	for _, v := range liveVariants {
		all |= v.fault
	}
	return all &^ ProcessFaults
}

// FaultSet is what may strike on real servers.
type FaultSet struct {
	Clients sim.Faults
	Servers ServerFaults
}

// ParseFaults reads a list of names of faults on real servers, as --faults takes it: those of clients, those
// of servers, all and none. A lag is a server's.
func ParseFaults(list string) (set FaultSet, err error) {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if f := parseServerFault(name); f != NoServerFaults {
			set.Servers |= f
			continue
		}
		one, err := sim.ParseFaults(name)
		if err != nil {
			return FaultSet{}, fmt.Errorf("unknown fault %q on real servers: there are %v, %v, and the sets all and none",
				name, ClientFaults()|ProcessFaults, AllServerFaults)
		}
		if one == sim.AllFaults {
			one, set.Servers = ClientFaults()|ProcessFaults, AllServerFaults
		}
		set.Clients |= one
	}
	return set, checkLiveFaults(set.Clients)
}

// checkLiveFaults returns an error that names the faults of clients that cannot strike on real servers, if there
// are any.
func checkLiveFaults(f sim.Faults) error {
	if rest := f &^ (ClientFaults() | ProcessFaults); rest != 0 {
		return fmt.Errorf("on real servers %v cannot strike: there are %v of clients, and %v of servers",
			rest, ClientFaults()|ProcessFaults, AllServerFaults)
	}
	return nil
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

// durations are what the fault may take. A pause is told from a slow answer only by those who outlive its session.
func (v liveVariant) durations(session time.Duration) []time.Duration {
	all := durations(session)
	if v.fault == sim.Pause {
		return all[len(all)-2:]
	}
	return all
}

// drawFaults draws what is to happen in a round from its number: each round has its own subset of the faults
// (swarm testing: Groce and others, 2012), and seldom more than one or two strike.
func drawFaults(seed uint64, round, clients int, allowed sim.Faults, session time.Duration) []Fault {
	draw := sim.NewRandomSource(seed^faultSalt, uint64(round))
	var possible []int
	for i, v := range liveVariants {
		if allowed.Has(v.fault) && draw.Choose(2, "may it strike") == 1 {
			possible = append(possible, i)
		}
	}
	var faults []Fault
	for range draw.Choose(faultsMax+1, "faults") {
		if len(possible) == 0 {
			break
		}
		v := liveVariants[possible[draw.Choose(len(possible), "which fault")]]
		f := Fault{Round: round, Client: 1 + draw.Choose(clients, "client"), Request: 1 + draw.Choose(requestMax, "request"), Fault: v.name, Variant: v.variant}
		if v.lasts {
			lasts := v.durations(session)
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
func (p *FaultPlan) Faults() (set FaultSet) {
	for _, f := range slices.Concat(slices.Collect(maps.Values(p.Rounds))...) {
		set.Clients |= liveVariants[f.variant()].fault
	}
	for _, f := range p.Servers {
		set.Servers |= f.under()
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

// variant returns which of the known variants it is; -1 if none.
func (f Fault) variant() int {
	return slices.IndexFunc(liveVariants, func(v liveVariant) bool { return v.name == f.Fault && v.variant == f.Variant })
}

// check returns an error for a fault that cannot be.
func (f Fault) check() error {
	switch {
	case f.variant() < 0:
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
