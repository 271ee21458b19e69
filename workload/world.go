package workload

import (
	"strings"
	"time"

	"github.com/zktorture/zktorture/sim"
)

// World tells judges what users cannot know, after an episode is over. A world may know everything, or see some things
// only from outside or not at all. If it does not know an answer the result named known is false, and a property that
// needs the answer is not judged ([Judgement.Judges]).
type World interface {
	// Faulty tells whether faults struck, so that errors are to be expected.
	Faulty() bool

	// Moment names a stamp in a sentence: "step 7", "0.25 s". Span names a time between two.
	Moment(stamp int64) string
	Span(from, to int64) string

	// SessionEnd returns the last stamp at which a session was surely alive, and false if it did not end. SessionGone
	// returns the first stamp at which it had surely ended. They are equal in a world that knows everything.
	SessionEnd(session int64) (end int64, ended bool)
	SessionGone(session int64) (since int64, known bool)
	// Crash returns when the process of a client with the number life died, and false if it did not.
	Crash(client, life int) (at int64, crashed bool)

	// CutOff tells whether, between two stamps, a client did not hear its servers for a third of the session timeout
	// or more.
	CutOff(client int, from, to int64) bool

	// FaultFree returns a lower bound of the time between two stamps, by the servers' clock, in which no fault was in
	// effect.
	FaultFree(from, to int64) (d time.Duration, known bool)

	// Beliefs tells whether it is known when, among its own steps, a process was told that its session was gone.
	Beliefs() (known bool)

	// Changes returns what the servers committed, in order, with the operation that asked for each.
	Changes() (all []sim.Change, known bool)
	// Herds returns the deletions whose events waiting operations got, with these.
	Herds() (all []sim.Herd, known bool)
	// Requests returns what is known of each request of the users, if that is all that can resolve an unknown outcome:
	// not where Changes does.
	Requests() (seen *Requests, known bool)

	// Explain says in a sentence what an operation waits for that has not returned, as far as that can be seen.
	Explain(op *sim.Op) sim.Sentence
	// Blocked says what keeps an operation from what it waits for in a queue of znodes; nothing if that is another
	// waiting operation. noun names what it waits for: "the lock".
	Blocked(op *sim.Op, noun string) sim.Violation
	// Abandoned returns an ephemeral znode below a path whose operation is over and that inUse does not excuse, and
	// that operation; nil if there is none.
	Abandoned(of []*sim.Op, below string, inUse func(maker *sim.Op) bool) (path string, maker *sim.Op, known bool)
	// Remains tells whether something is there that an operation made, or may have made.
	Remains(op *sim.Op) bool
	// LeftBehind returns what was left behind when all users had finished.
	LeftBehind(of []*sim.Op, allowed Leftovers) []sim.Violation
}

// Leftovers is what a recipe may leave behind.
type Leftovers struct {
	Path   string // the object's own znode
	Values bool   // persistent znodes may be what the object is made of, or an earlier one was
	// Notes says that users keep ephemeral znodes as long as their session lives: one for each user, and one for each
	// operation that has failed, as what may not be there cannot be tidied up.
	Notes bool
}

// Errand tells whether a znode is what holders have left on their errands, beside the object. It is not judged.
func (l Leftovers) Errand(path string) bool {
	ending, beside := strings.CutPrefix(path, l.Path)
	return beside && (strings.HasPrefix(ending, tallyEnding) || strings.HasPrefix(ending, logEnding))
}
