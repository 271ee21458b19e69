package world

import (
	"reflect"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

// Every field of a world is in the hash of its state, follows from what is, or changes nothing about the future or the
// verdict. A field that is added must be put into a class here, and if need be into the hash.
func TestFieldsAreClassed(t *testing.T) {
	const (
		wire  = "constant: over the wire nothing is searched"
		exact = "constant: nothing is searched in exact mode"
	)
	testkit.FieldsAreClassed(t, reflect.TypeFor[World](), map[string]string{
		"cfg source observers": "constant: of the search",
		"passed":               "follows: elapsed and offset", "tellsTime told": "constant: a search takes a moment after each step", "ends": testkit.Hashed + " by number: which they are is in the changes", "kept": testkit.Hashed + " as delivered and history",
		"tape":                                  exact,
		"ending tortured":                       "scratch: set when torture is over",
		"followed":                              "follows: the plan",
		"episode":                               testkit.Hashed + " by its plan; what users do later follows from what they were told",
		"door":                                  wire,
		"servers replicas lag procs":            testkit.Hashed,
		"last":                                  "scratch: it orders the list of actions, which are all taken, and is forgotten when torture ends",
		"faults faultsDue firstNumber versions": testkit.Hashed,
		"counters":                              "follows: the history",
		"step":                                  "scratch: judges compare steps only, and their order is the history's; limits of steps end a search",
		"liveness elapsed offset brief outage":  testkit.Hashed,
		"Memory":                                "follows: of its fields those named here, through which it is reached", "start alarm": "constant",
		"quiet livelock endless":            "scratch: of the liveness phase",
		"fence mu kick asleep":              "scratch: of synchronisation",
		"handed handedBefore doors between": wire, "places": "constant", "exits over": exact, "barred": "scratch: for people; what fails because of one is in the history", "dead": "follows: the history", "endRandom bubble terms": "constant",
		"outside panicked struck nobodys random": testkit.Hashed,
		"ops":                                    "follows: the history",
		"lasting":                                "follows: the history, and what its process was told",
		"opsRoom aimAt":                          "scratch: memory",
		"actor maker":                            "scratch: of one request",
		"journal":                                "scratch: for people",
		"lead":                                   "constant: nobody leads where the state is hashed",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[Memory](), map[string]string{
		"changes deaths parents removals": "follows: the history", "herd": testkit.Hashed, "ticks": "scratch: of the liveness phase",
		"submitted submittedBefore notes notesBefore ended endedBefore": "scratch: empty when a choice is due",
		"actions targets empty pinging watchers":                        "scratch: memory",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[process](), map[string]string{
		"deaf": "follows: the history", "expiriesBefore reads": "follows: what it was told", "telling toldLate": "scratch: of one step", "id": "constant",
		"clients": "follows: inProcess, the only one", "clientsRoom": "scratch: memory",
		"inProcess users incarnation held heldEvent paused crashed": testkit.Hashed,
		"door woken behind": wire, "world": "constant", "asking exits pausing": "scratch: of the liveness phase",
		"expiriesSeen crashes": testkit.Hashed + " by number; when is in the history, and in what it was told",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[User](), map[string]string{
		"Client Index world process conn": "constant", "Incarnation": "follows: its process's",
		"told toldAt": "follows: what its process was told; when is compared with the present step only", "op done resting stalledLong": testkit.Hashed, "dead": "follows: crashed", "atDeath": "constant", "guids closing": "follows: what it was told",
		"stamped stamps sent": "scratch: of one step", "goroutine": "scratch: for people, and over the wire", "over": wire, "spare": "scratch: memory",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[Op](), map[string]string{
		"Name Arg Outcome Result Err Client User Incarnation SessionAt ExpiriesSeen Cancelled Told SelfEnded": testkit.Hashed + " in the history",
		"Call Return Number": "scratch: judges compare them only, and their order is the history's; of returns that give something back, that with calls and changes",
		"Data":               "follows: what its user was told", "Made Maker": exact,
		"user ctx cancelable outer": "constant: of what is called, in the order of calls", "over": wire,
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[keeping](), map[string]string{
		"delivered history outside": testkit.Hashed, "asked": testkit.Hashed + " in the history", "acted alone": testkit.Hashed + " by who acts first",
		"names begun": "follows: the history", "dials": "scratch: of one step",
		"slept": "scratch: timers that are due in one millisecond fire in the order in which they were set, however often",
		"deaf":  "scratch: compared with steps of the present only", "settled": "scratch: timers are as whole milliseconds, which is checked",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[deliveries](), map[string]string{"w client": "constant", "sum": testkit.Hashed})
	testkit.FieldsAreClassed(t, reflect.TypeFor[Herd](), map[string]string{"Zxid Path Ops": testkit.Hashed, "Step": "scratch: for people"})
	testkit.FieldsAreClassed(t, reflect.TypeFor[Change](), map[string]string{
		"Change By": testkit.Hashed + " in the history", "Step": "scratch: compared only, and its order is the history's",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[outage](), map[string]string{"now until": testkit.Hashed})
	testkit.FieldsAreClassed(t, reflect.TypeFor[outsideCall](), map[string]string{
		"rests": "follows: what the user was told", "user what": testkit.Hashed, "says": "scratch: for people", "do when done": "follows: what the user was told",
	})
}
