package sim

import (
	"reflect"
	"testing"

	"github.com/zktorture/zktorture/internal/classed"
)

// Every field of a world is in the hash of its state, follows from what is, or changes nothing about the future or the
// verdict. A field that is added must be put into a class here, and if need be into the hash.
func TestFieldsAreClassed(t *testing.T) {
	const (
		wire  = "constant: over the wire nothing is searched"
		exact = "constant: nothing is searched in exact mode"
	)
	classed.Check(t, reflect.TypeFor[World](), map[string]string{
		"cfg source looker": "constant: of the search",
		"passed":            "follows: elapsed and offset", "tellsTime told": "constant: a search takes a moment after each step", "events eventful used": "scratch: of other strategies", "ends": classed.Hashed + " by number: which they are is in the changes", "kept": classed.Hashed + " as told and history",
		"tape":                                  exact,
		"ending tortured":                       "scratch: set when torture is over",
		"episode":                               classed.Hashed + " by its plan; what users do later follows from what they were told",
		"door":                                  wire,
		"servers replicas lag procs":            classed.Hashed,
		"last":                                  "scratch: it orders the list of actions, which are all taken, and is forgotten when torture ends",
		"faults faultsDue firstNumber versions": classed.Hashed,
		"counters":                              "follows: the history",
		"step":                                  "scratch: judges compare steps only, and their order is the history's; limits of steps end a search",
		"liveness elapsed offset brief outage":  classed.Hashed,
		"memory":                                "follows: of its fields those named here, through which it is reached", "witness": "scratch: of coverage", "start alarm": "constant",
		"quiet livelock endless":    "scratch: of the liveness phase",
		"fence mu kick asleep":      "scratch: of synchronisation",
		"handed handedBefore doors": wire, "dead": "follows: the history", "endRandom bubble": "constant",
		"outside panicked struck nobodys random": classed.Hashed,
		"ops":                                    "follows: the history",
		"lasting":                                "follows: the history, and what its process was told",
		"opsRoom aimAt":                          "scratch: memory",
		"duringOp":                               "scratch: of statistics, which are no verdict",
		"actor":                                  "scratch: of one request",
		"trace unkept record hash":               "scratch: for people",
	})
	classed.Check(t, reflect.TypeFor[memory](), map[string]string{
		"changes deaths parents removals": "follows: the history", "herd": classed.Hashed, "ticks": "scratch: of the liveness phase",
		"submitted submittedBefore notes notesBefore ended endedBefore": "scratch: empty when a choice is due",
		"actions targets empty pinging watchers":                        "scratch: memory",
	})
	classed.Check(t, reflect.TypeFor[process](), map[string]string{
		"deaf": "follows: the history", "expiriesBefore": "follows: what it was told", "telling toldLate": "scratch: of one step", "id": "constant",
		"clients": "follows: inProcess, the only one", "clientsRoom": "scratch: memory",
		"inProcess users incarnation held heldEvent paused crashed": classed.Hashed,
		"door stirring": wire, "asking": "scratch: of the liveness phase",
		"expiriesSeen crashes": classed.Hashed + " by number; when is in the history, and in what it was told",
	})
	classed.Check(t, reflect.TypeFor[User](), map[string]string{
		"Client Index world process conn": "constant", "Incarnation": "follows: its process's",
		"told toldAt": "follows: what its process was told; when is compared with the present step only", "op done resting stalledLong": classed.Hashed, "dead": "follows: crashed", "atDeath": "constant", "guids": "follows: what it was told",
		"stamped stamps sent": "scratch: of one step", "over": wire, "spare": "scratch: memory",
	})
	classed.Check(t, reflect.TypeFor[Op](), map[string]string{
		"Name Arg Outcome Result Err Client User Incarnation SessionAt ExpiriesSeen Cancelled Told SelfEnded": classed.Hashed + " in the history",
		"Call Return Number":  "scratch: judges compare them only, and their order is the history's",
		"Data":                "follows: what its user was told",
		"user ctx cancelable": "constant: of what is called, in the order of calls", "over": wire,
	})
	classed.Check(t, reflect.TypeFor[keeping](), map[string]string{
		"told history outside": classed.Hashed, "acted alone": classed.Hashed + " by who acts first",
		"names begun": "follows: the history", "dials": "scratch: of one step",
		"slept": "scratch: timers that are due in one millisecond fire in the order in which they were set, however often",
		"deaf":  "scratch: compared with steps of the present only", "settled": "scratch: timers are as whole milliseconds, which is checked",
	})
	classed.Check(t, reflect.TypeFor[told](), map[string]string{"w client": "constant", "sum": classed.Hashed})
	classed.Check(t, reflect.TypeFor[Herd](), map[string]string{"Zxid Path Ops": classed.Hashed, "Step": "scratch: for people"})
	classed.Check(t, reflect.TypeFor[Change](), map[string]string{
		"Change By": classed.Hashed + " in the history", "Step": "scratch: compared only, and its order is the history's",
	})
	classed.Check(t, reflect.TypeFor[outage](), map[string]string{"now until": classed.Hashed})
	classed.Check(t, reflect.TypeFor[outsideCall](), map[string]string{
		"rests": "follows: what the user was told", "user what": classed.Hashed, "do when done": "follows: what the user was told",
	})
}
