package campaign

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// Identify gives what is likely the same mistake the same name, whichever recipe makes it: the property with a digest
// of the shape of its story. The trace is that of a minimised run, from a [sim.Found] or a [sim.Replayed], with its
// violation.
//
// The shape is what the faults did to the recipe, as a set, and the last answer that an operation of the verdict got.
// What broke a connection does not matter, but whether a write was carried out and its answer lost. A client that the
// verdict does not name, and that expires, crashes or gives up, is just another one that leaves. Where nothing struck,
// the number of users that it takes counts, too. Names, numbers, values, times and the order of independent steps do
// not.
//
// The documentation of package failures has how this was found, and how often it fails.
func Identify(v sim.Violation, trace []world.Step) (id string, shape []string) {
	shape = shapeOf(v, trace)
	sum := sha256.Sum256([]byte(strings.Join(shape, "\n")))
	return fmt.Sprintf("%s-%x", v.Property, sum[:4]), shape
}

func shapeOf(v sim.Violation, trace []world.Step) []string {
	r := shapeReader{
		ops: map[int64]bool{}, clients: map[int]bool{}, due: map[int][]world.Step{}, users: map[[2]int]bool{},
		effects: map[string]bool{},
	}
	for _, op := range v.Ops {
		r.ops[op.Number], r.clients[op.Client] = true, true
	}
	for _, s := range trace {
		r.line(s)
	}
	return r.shape()
}

// shapeReader reads the lines of a trace.
type shapeReader struct {
	ops     map[int64]bool       // of the verdict
	clients map[int]bool         // whose they are
	due     map[int][]world.Step // by client: requests that have arrived and are not answered, oldest first
	users   map[[2]int]bool      // that have called something
	effects map[string]bool      // of faults
	answer  string               // the last one
}

func (r *shapeReader) line(s world.Step) {
	switch due := r.due[s.Client]; s.Kind {
	case world.KindCall:
		r.users[[2]int{s.Client, s.User}] = true
	case world.KindRequest:
		r.due[s.Client] = append(due, s)
	case world.KindExchange:
		r.answered(s, s.Err)
	case world.KindReply:
		if len(due) > 0 {
			r.due[s.Client] = due[1:]
			r.answered(due[0], s.Err)
		}
	case world.KindClosed, world.KindConnect:
		r.lose(s.Client)
	case world.KindFault:
		r.fault(s)
	}
}

// answered notes the answer to a request of the verdict; of a verdict without operations, to any operation's.
func (r *shapeReader) answered(request world.Step, err wire.Code) {
	if request.Op == 0 || len(r.ops) > 0 && !r.ops[request.Op] {
		return
	}
	outcome := "ok"
	if err != wire.CodeOK {
		outcome = strings.TrimPrefix(err.Err().Error(), "zk: ")
	}
	r.answer = fmt.Sprintf("last answer: %s %s", sameRead(request.Request), outcome)
}

// sameRead is a request by name; which of the two reads of a znode it is does not matter.
func sameRead(request string) string {
	if request == "exists" {
		return "get"
	}
	return request
}

// lose notes that the answers which are due to a client will not come.
func (r *shapeReader) lose(client int) {
	for _, request := range r.due[client] {
		r.loseAnswer(request.Request)
	}
	delete(r.due, client)
}

// loseAnswer notes that the answer to a request is lost that was carried out. It matters if that is a write.
func (r *shapeReader) loseAnswer(request string) {
	switch request {
	case "create", "delete", "set", "multi", "setACL":
		r.effects["answer to "+request+" lost"] = true
	}
}

const (
	effectBreak  = "connection breaks"
	effectLeaves = "another client leaves"
)

func (r *shapeReader) fault(s world.Step) {
	other := !r.clients[s.Client]
	switch {
	case s.Fault == world.Crash: // nobody waits for the answer
		delete(r.due, s.Client)
		r.leaves(s, other)
	case s.Fault == world.Cancel:
		r.leaves(s, other)
	case s.Fault == world.Expiry:
		r.lose(s.Client)
		r.leaves(s, other)
	case s.Fault == world.Loss, s.Lost != "", s.Fault == world.Lag && s.Client >= 0: // which leaves its server for another
		if s.Lost == world.LostReply {
			r.loseAnswer(s.Request)
		}
		r.lose(s.Client)
		r.effects[effectBreak] = true
	default:
		r.effects[s.Fault.String()] = true
	}
}

func (r *shapeReader) leaves(s world.Step, other bool) {
	if other {
		r.effects[effectLeaves] = true
	} else {
		r.effects[s.Fault.String()] = true
	}
}

// shape lists the effects. Those that come with others, or make room or another client for them, count only if there is
// nothing else.
func (r *shapeReader) shape() []string {
	for _, weak := range []string{world.Time.String(), world.Pause.String(), effectBreak, effectLeaves, world.Crash.String()} {
		if len(r.effects) > 1 {
			delete(r.effects, weak)
		}
	}
	shape := slices.Sorted(maps.Keys(r.effects))
	if len(shape) == 0 {
		shape = append(shape, fmt.Sprintf("no fault, users: %d", len(r.users)))
	}
	if r.answer != "" {
		shape = append(shape, r.answer)
	}
	return shape
}
