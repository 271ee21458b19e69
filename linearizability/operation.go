package linearizability

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/linearizability/operations"
)

// Outcome is what a client knows about an operation of its own.
type Outcome uint8

const (
	// OK: the operation took effect between its call and its return, with the result given.
	OK Outcome = iota
	// Fail: the operation surely had no effect.
	Fail
	// Unknown: the operation may take effect at any time from its call on, or never.
	Unknown
)

var outcomeNames = [...]string{OK: "ok", Fail: "fail", Unknown: "unknown"}

// String returns ok, fail or unknown.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// MarshalText implements [encoding.TextMarshaler], for JSON.
func (o Outcome) MarshalText() ([]byte, error) {
	if int(o) >= len(outcomeNames) {
		return nil, fmt.Errorf("outcome %d does not exist; use OK, Fail or Unknown", uint8(o))
	}
	return []byte(o.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler], for JSON.
func (o *Outcome) UnmarshalText(text []byte) error {
	i := slices.Index(outcomeNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("outcome %.40q does not exist; write ok, fail or unknown", text)
	}
	*o = Outcome(i)
	return nil
}

// Forever is the return stamp of an operation that never returned.
const Forever int64 = math.MaxInt64

// Operation is one call of an object by a client, and what became of it.
type Operation struct {
	// Client is the number of the caller, which has one call at a time. After an operation of unknown outcome a
	// client goes on under another number, as Recorder of package histories gives it one.
	Client int
	// Op is what was called: acquire, try, release; offer, poll, take, peek; and so on, see the models.
	Op string
	// Arg is what was passed, and Result what came back; a failed or unknown operation has a result of null, unless
	// what it would have returned is known all the same.
	Arg, Result Value
	Outcome     Outcome
	// Call and Return are stamps of one clock that never goes back, steps or nanoseconds, with Call <= Return. Return
	// is [Forever] if the operation never returned.
	Call, Return int64
	// Object names what was called, where a history covers several.
	Object string
	// Note is text for people, such as that of an error. It is not judged.
	Note string
	// Process is the client that the harness knows, where Client is a number given in its place; null if that is
	// Client itself. A release ends the hold of its process.
	Process Value
}

// String returns the operation as in
//
//	client 3 poll → v17 [1041..1077]
//	client 1 offer v18 (unknown) [1050..]
func (o Operation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "client %d %s", o.Client, o.Op)
	if !o.Arg.IsNull() {
		fmt.Fprintf(&b, " %v", o.Arg)
	}
	if o.showsResult() {
		fmt.Fprintf(&b, " → %v", o.Result)
	}
	if o.Outcome != OK {
		fmt.Fprintf(&b, " (%v)", o.Outcome)
	}
	fmt.Fprintf(&b, " [%d..", o.Call)
	if o.Return != Forever {
		fmt.Fprint(&b, o.Return)
	}
	b.WriteByte(']')
	return b.String()
}

// showsResult reports whether the result says something: a null does where it means empty or refused.
func (o *Operation) showsResult() bool { return !o.Result.IsNull() || o.Vain() }

// Vain reports whether the operation came back with nothing: a try was refused, or a queue found empty.
func (o *Operation) Vain() bool {
	switch nothing := o.Outcome == OK && o.Result.IsNull(); o.kind().Result {
	case operations.Granted:
		return nothing || o.Outcome == OK && (o.Result == Bool(false) || o.Result == Int(0))
	case operations.ItemOrNil:
		return nothing
	}
	return false
}

// Owner is the process whose operation this is: Process, or Client itself.
func (o *Operation) Owner() Value {
	if o.Process.IsNull() {
		return Int(int64(o.Client))
	}
	return o.Process
}

// end is the last instant at which the operation can have taken effect.
func (o *Operation) end() int64 {
	if o.Outcome == Unknown {
		return Forever
	}
	return o.Return
}

// History is the operations of one run.
type History []Operation

func (o *Operation) kind() *operations.Kind { return operations.Of(o.Op) }
