package ensemble

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Kind is a way to hurt a server.
type Kind string

// The kinds of faults. Partition, Mute, Deaf and Lossy need [Options.Namespaces].
const (
	Kill      Kind = "kill"      // SIGKILL; undone by starting the server again, with its data
	Stop      Kind = "stop"      // SIGSTOP: it hangs; undone by SIGCONT
	Lag       Kind = "lag"       // it hears of everything so much later: see [Ensemble.Lag]
	Partition Kind = "partition" // it and the others lose each other
	Mute      Kind = "mute"      // the others do not hear it any more; it hears them
	Deaf      Kind = "deaf"      // it does not hear the others any more; they hear it
	Lossy     Kind = "lossy"     // so much of what it sends to the others and they to it is lost
)

// Target says whom a fault strikes: a member by its number, from 0, or one that is chosen when it strikes.
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

// Fault is something that happens to one server. It prints as what [ParseFault] takes.
type Fault struct {
	Kind    Kind
	Target  Target
	Delay   time.Duration // of Lag
	Percent int           // of Lossy: of the packets, from 0 to 100
}

// String is for example "kill leader", "lag server.2 200ms" or "lossy follower 20%".
func (f Fault) String() string {
	s := fmt.Sprintf("%s %v", f.Kind, f.Target)
	switch f.Kind {
	case Lag:
		s += " " + f.Delay.String()
	case Lossy:
		s += " " + strconv.Itoa(f.Percent) + "%"
	}
	return s
}

// ParseFault reads a fault as it prints.
func ParseFault(s string) (Fault, error) {
	words := strings.Fields(s)
	if len(words) < 2 {
		return Fault{}, fmt.Errorf("ensemble: fault %q: it must be a kind and whom it strikes, such as \"kill leader\"", s)
	}
	f := Fault{Kind: Kind(words[0])}
	var err error
	if f.Target, err = parseTarget(words[1]); err == nil {
		err = f.parseMeasure(words[2:])
	}
	if err != nil {
		return Fault{}, fmt.Errorf("ensemble: fault %q: %w", s, err)
	}
	return f, nil
}

func parseTarget(s string) (Target, error) {
	switch s {
	case "leader":
		return Leader, nil
	case "follower":
		return Follower, nil
	}
	digits, ok := strings.CutPrefix(s, "server.")
	number, err := strconv.Atoi(digits)
	if !ok || err != nil || number < 1 {
		return 0, fmt.Errorf("it strikes %q: it must strike leader, follower, or a member by its name: server.1, server.2, …", s)
	}
	return Target(number - 1), nil
}

// parseMeasure reads what stands behind kind and target: something for Lag and Lossy, nothing else.
func (f *Fault) parseMeasure(words []string) (err error) {
	switch f.Kind {
	case Kill, Stop, Partition, Mute, Deaf:
		if len(words) != 0 {
			return fmt.Errorf("%q is too much", words)
		}
	case Lag:
		if len(words) == 1 {
			f.Delay, err = time.ParseDuration(words[0])
		}
		if len(words) != 1 || err != nil {
			return fmt.Errorf("a lag needs a delay, such as \"lag follower 200ms\"")
		}
	case Lossy:
		if len(words) == 1 {
			f.Percent, err = parsePercent(words[0])
		}
		if len(words) != 1 || err != nil {
			return fmt.Errorf("a lossy link needs a share, such as \"lossy follower 20%%\"")
		}
	default:
		return fmt.Errorf("there is no kind %q: the kinds are kill, stop, lag, partition, mute, deaf and lossy", f.Kind)
	}
	return nil
}

func parsePercent(s string) (int, error) {
	digits, ok := strings.CutSuffix(s, "%")
	percent, err := strconv.Atoi(digits)
	if !ok || err != nil || percent < 0 || percent > 100 {
		return 0, fmt.Errorf("%q is no share", s)
	}
	return percent, nil
}

// Struck is a fault that has struck.
type Struck struct {
	Fault  Fault
	Member int    // whom, by number
	Role   string // what it was at that time: leader, follower or standalone; "" if it did not serve

	once sync.Once
	undo func() error
	err  error
}

// String tells what was done to whom: "kill leader: server.2 (leader)".
func (s *Struck) String() string { return fmt.Sprintf("%v: %s", s.Fault, s.Whom()) }

// Whom tells who was struck, and what it was: "server.2 (leader)".
func (s *Struck) Whom() string {
	return fmt.Sprintf("%v (%s)", Target(s.Member), cmp.Or(s.Role, "not serving"))
}

// Undo takes the fault back and returns at once, before the server has recovered: see [Ensemble.HealAll]. It may be called
// again, and after HealAll, and does nothing then.
func (s *Struck) Undo() error {
	s.once.Do(func() { s.err = s.undo() })
	return s.err
}
