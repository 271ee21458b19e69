package worker

import (
	"context"
	"reflect"
	"slices"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/operations"
)

// kinds are those whose recipes may be in other processes, with the methods of recipes by the names
// of operations in histories. A kind is registered by a line here, and by its methods below. A
// double barrier is none of them: it is not known of a process that died whether, and for how long,
// it was inside.
var kinds = []kind{
	{"lock", methods{"acquire": "Lock", "release": "Unlock", "try": "TryLock"}, true},
	{"rwlock", methods{
		"acquire": "Lock", "release": "Unlock", "try": "TryLock",
		"racquire": "RLock", "rrelease": "RUnlock", "rtry": "TryRLock",
	}, false},
	{"semaphore", methods{"acquire": "Acquire", "release": "Release", "try": "TryAcquire"}, false},
	{"queue", methods{"offer": "Offer", "poll": "Poll", "take": "Take", "peek": "Peek"}, false},
	{"election", methods{"elected": "Campaign", "resigned": "Resign"}, false},
	{"counter", methods{"add": "Add", "get": "Get"}, false},
	{"barrier", methods{"shut": "Shut", "open": "Open", "wait": "Wait"}, false},
}

type kind struct {
	name string
	methods
	all bool // every recipe of the project's may be in other processes, not only the default
}

type methods map[string]string

// optionals are the operations that not every recipe has.
var optionals = []string{"try", "rtry", "take", "peek", "owner"}

// serve returns what a user can do by a recipe, which is false of what is no recipe of the kind.
func (k kind) serve(recipe any) (Served, bool) {
	if recipe == nil {
		return nil, false
	}
	served, held := Served{}, false
	for op, method := range k.methods {
		if f := reflect.ValueOf(recipe).MethodByName(method); f.IsValid() {
			served[op] = operationOf(op, recipe, f.Interface())
		}
		if served[op] == nil && !slices.Contains(optionals, op) {
			return nil, false
		}
		held = held || operations.Of(op).Role == operations.Grant
	}
	if held {
		served.addOwner(recipe)
	}
	return served, true
}

// HasMethod tells the workload which of the methods below the recipe in the other process has.
func (h *handle) HasMethod(method string) bool {
	for _, k := range kinds {
		for op, name := range k.methods {
			if name == method && slices.Contains(optionals, op) {
				return h.conn.remote.Can(op)
			}
		}
	}
	return true
}

// What users call of a recipe in another process, of any kind.

func (h *handle) Lock(ctx context.Context) error             { return h.take(ctx, "acquire") }
func (h *handle) TryLock(ctx context.Context) (bool, error)  { return h.acquire(ctx, "try") }
func (h *handle) Unlock(ctx context.Context) error           { return h.giveBack(ctx, "release") }
func (h *handle) RLock(ctx context.Context) error            { return h.take(ctx, "racquire") }
func (h *handle) TryRLock(ctx context.Context) (bool, error) { return h.acquire(ctx, "rtry") }
func (h *handle) RUnlock(ctx context.Context) error          { return h.giveBack(ctx, "rrelease") }

func (h *handle) Acquire(ctx context.Context) error            { return h.take(ctx, "acquire") }
func (h *handle) TryAcquire(ctx context.Context) (bool, error) { return h.acquire(ctx, "try") }
func (h *handle) Release(ctx context.Context) error            { return h.giveBack(ctx, "release") }

func (h *handle) Campaign(ctx context.Context) error { return h.take(ctx, "elected") }
func (h *handle) Resign(ctx context.Context) error   { return h.giveBack(ctx, "resigned") }

func (h *handle) Offer(ctx context.Context, data []byte) error {
	return h.do(ctx, "offer", linearizability.Str(string(data)))
}

func (h *handle) Poll(ctx context.Context) ([]byte, error) { return h.remove(ctx, "poll") }
func (h *handle) Take(ctx context.Context) ([]byte, error) { return h.remove(ctx, "take") }
func (h *handle) Peek(ctx context.Context) ([]byte, error) { return h.remove(ctx, "peek") }

func (h *handle) Add(ctx context.Context, delta int64) (int64, error) {
	return h.count(ctx, "add", linearizability.Int(delta))
}

func (h *handle) Get(ctx context.Context) (int64, error) {
	return h.count(ctx, "get", linearizability.Null)
}

func (h *handle) Shut(ctx context.Context) error { return h.do(ctx, "shut", linearizability.Null) }
func (h *handle) Open(ctx context.Context) error { return h.do(ctx, "open", linearizability.Null) }
func (h *handle) Wait(ctx context.Context) error { return h.do(ctx, "wait", linearizability.Null) }
