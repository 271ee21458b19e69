package ensemble

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
)

// Target is the member that a fault strikes: its number, from 0, or a member chosen at the strike.
type Target int

// Leader is the member that leads when the fault strikes, Follower the first that follows. The only member of an
// ensemble is its leader.
const (
	Leader   Target = -1
	Follower Target = -2
)

// String is leader, follower, or the name of a member as ZooKeeper's configuration has it: Target(0) is server.1.
func (t Target) String() string {
	switch t {
	case Leader:
		return "leader"
	case Follower:
		return "follower"
	}
	return "server." + strconv.Itoa(int(t)+1)
}

// MarshalText writes a target as it prints.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a target as it prints.
func (t *Target) UnmarshalText(text []byte) error {
	switch string(text) {
	case "leader":
		*t = Leader
		return nil
	case "follower":
		*t = Follower
		return nil
	}
	digits, ok := strings.CutPrefix(string(text), "server.")
	number, err := strconv.Atoi(digits)
	if !ok || err != nil || number < 1 {
		return fmt.Errorf(
			"a fault strikes leader, follower, or a member by its name (server.1, server.2, …), not %q", text)
	}
	*t = Target(number - 1)
	return nil
}

// Fault is something that happens to one server. What it can be, [strike.OnEnsemble] says. A lag holds a follower at
// the transaction that it has by then.
type Fault struct {
	Kind   strike.Fault `json:"fault"`
	Target Target       `json:"server"`
}

// String is for example "kill leader" or "lag server.2".
func (f Fault) String() string { return fmt.Sprintf("%s %v", f.Kind, f.Target) }

// Validate returns an error for a fault that cannot strike an ensemble of this size in any state.
func (f Fault) Validate(members int) error {
	kinds := strike.Faults(strike.OnEnsemble)
	switch {
	case !slices.Contains(kinds, f.Kind):
		return fmt.Errorf("ensemble: there is no fault %q of servers: there are %v", f.Kind, kinds)
	case int(f.Target) >= members:
		return fmt.Errorf("ensemble: %v: the ensemble has %d members", f, members)
	case f.Target == Follower && members == 1:
		return fmt.Errorf("ensemble: %v: %w", f, errAlone)
	}
	return nil
}

// Struck is a fault that has struck.
type Struck struct {
	Fault  Fault
	Member int    // its number
	Role   string // what it was at that time: leader, follower or standalone; "" if it did not serve

	// Undo takes the fault back and returns at once, before the server has recovered: see [Ensemble.HealAll]. It may be
	// called again, and after HealAll, and does nothing then.
	Undo func() error
}

// String tells what was done to which member: "kill leader: server.2 (leader)".
func (s *Struck) String() string { return fmt.Sprintf("%v: %s", s.Fault, s.Where()) }

// Where tells which member was struck, and what it was: "server.2 (leader)".
func (s *Struck) Where() string {
	return fmt.Sprintf("%v (%s)", Target(s.Member), cmp.Or(s.Role, "not serving"))
}
