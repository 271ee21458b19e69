package worker

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/workload/cluster"
)

// kinds are the library's whose recipes may be in other processes, with the methods of recipes by the names of the
// protocol's operations. A kind is registered by a line here, and by its methods below; one of a user's by its Operations.
var kinds = []kind{
	{name: "lock", methods: methods{"acquire": "Lock", "release": "Unlock", "try": "TryLock"}, all: true},
	{name: "rwlock", methods: methods{
		"acquire": "Lock", "release": "Unlock", "try": "TryLock",
		"racquire": "RLock", "rrelease": "RUnlock", "rtry": "TryRLock",
	}},
	{name: "semaphore", methods: methods{"acquire": "Acquire", "release": "Release", "try": "TryAcquire"}},
	{name: "queue", methods: methods{"offer": "Offer", "poll": "Poll", "take": "Take", "peek": "Peek"}},
	{name: "lockingqueue", methods: methods{
		"offer": "Offer", "claim": "Claim", "try": "TryClaim", "done": "Done", "giveback": "Release", "token": "Token",
	}, served: servedClaims},
	{name: "election", methods: methods{"elected": "Campaign", "resigned": "Resign"}},
	{
		name: "membership", methods: methods{"join": "Join", "leave": "Leave", "members": "Members", "changed": "Changed"},
		served: servedMember, stand: func(h *handle) any {
			return func(name string) workload.Grouper { return h.of(name) }
		},
	},
	{
		name: "counter", methods: methods{"add": "Add", "subtract": "Subtract", "get": "Get"}, served: servedCounter,
	},
	{name: "barrier", methods: methods{"shut": "Shut", "open": "Open", "wait": "Wait"}},
	{name: "doublebarrier", methods: methods{"enter": "Enter", "leave": "Leave"}, mortal: true},
	{name: "ids", methods: methods{"lease": "Lease", "free": "Free"}},
	{name: "shards", methods: methods{"share": "Share", "stale": "Stale", "yield": "Yield", "leave": "Leave"}},
	{
		name:    "registry",
		methods: methods{"register": "Register", "deregister": "Deregister", "list": "List", "changed": "Changed"},
		served:  servedInstance, stand: func(h *handle) any {
			return func(name string) cluster.Registrar { return h.of(name) }
		}, mortal: true, fragile: true,
	},
	{name: "cache", methods: methods{"set": "Set", "unset": "Unset", "next": "Next"}, mortal: true},
}

type kind struct {
	name string
	methods
	own     []string             // the operations of a user's kind, whose recipes are a [caller]
	mortal  bool                 // a user who does not come back is missed: its life ends with its process
	fragile bool                 // others wait for what a process makes, and that is gone with it or its session
	all     bool                 // every recipe of the project's may be in other processes, not only the default
	served  func(recipe any) any // what has the methods; nil: the recipe itself
	stand   func(h *handle) any  // what stands for a recipe; nil: the handle itself
}

type methods map[string]string

// caller is what users of a user's kind call.
type caller interface {
	Call(ctx context.Context, op, arg string) (result string, err error)
}

// operations are those that every recipe of the kind has.
func (k kind) operations() string {
	has := slices.Sorted(maps.Keys(k.methods))
	return strings.Join(append(slices.DeleteFunc(has, optional), k.own...), " ")
}

// optionals are the operations that not every recipe has.
var optionals = []string{"try", "rtry", "take", "peek", "giveback", "token", "changed", "subtract", "owner"}

func optional(op string) bool { return slices.Contains(optionals, op) }

// serve returns what a user can do by a recipe, which is false of what is no recipe of the kind.
func (k kind) serve(recipe any) (Served, bool) {
	if k.served != nil {
		recipe = k.served(recipe)
	}
	if recipe == nil {
		return nil, false
	}
	served := Served{}
	if c, calls := recipe.(caller); k.own != nil {
		for _, op := range k.own {
			served[op] = calling(c, op)
		}
		return served, calls
	}
	for op, method := range k.methods {
		if f := reflect.ValueOf(recipe).MethodByName(method); f.IsValid() && has(recipe, method) {
			served[op] = operationOf(op, recipe, f.Interface())
		}
		if served[op] == nil && !optional(op) {
			return nil, false
		}
	}
	served.addOwner(recipe)
	return served, true
}

// has reports whether a recipe that says which of its methods count has one.
func has(recipe any, method string) bool {
	says, can := recipe.(interface{ HasMethod(method string) bool })
	return !can || says.HasMethod(method)
}

// HasMethod tells the workload which of the methods below the recipe in the other process has.
func (h *handle) HasMethod(method string) bool {
	for op, name := range h.kind.methods {
		if name == method && optional(op) {
			return h.conn.remote.Can(op)
		}
	}
	return true
}

// What users call of a recipe in another process, of any kind.

func (h *handle) Call(ctx context.Context, op, arg string) (string, error) {
	answer, err := h.call(ctx, op, textOf(arg), 0)
	return string(dataOf(answer.Result)), err
}

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

func (h *handle) Claim(ctx context.Context) (workload.Claimed, error)    { return h.claim(ctx, "claim") }
func (h *handle) TryClaim(ctx context.Context) (workload.Claimed, error) { return h.claim(ctx, "try") }

func (c *claim) Data() []byte                      { return c.data }
func (c *claim) Token() string                     { return c.token }
func (c *claim) Done(ctx context.Context) error    { return c.giveBack(ctx, "done") }
func (c *claim) Release(ctx context.Context) error { return c.giveBack(ctx, "giveback") }

func (h *handle) Join(ctx context.Context) error {
	_, err := h.hold(ctx, "join", linearizability.Str(h.name))
	return err
}

func (h *handle) Leave(ctx context.Context) error { return h.giveBack(ctx, "leave") }
func (h *handle) Enter(ctx context.Context) error { return h.take(ctx, "enter") }

func (h *handle) Members(ctx context.Context) ([]string, error) {
	return h.list(ctx, "members", linearizability.Null)
}

func (h *handle) Changed(ctx context.Context, known []string) ([]string, error) {
	return h.list(ctx, "changed", linearizability.Str(strings.Join(known, " ")))
}

func (h *handle) Register(ctx context.Context) error {
	return h.do(ctx, "register", linearizability.Str(h.name))
}

func (h *handle) Deregister(ctx context.Context) error {
	return h.do(ctx, "deregister", linearizability.Null)
}

func (h *handle) List(ctx context.Context) ([]string, error) {
	return h.list(ctx, "list", linearizability.Null)
}

func (h *handle) Set(ctx context.Context, value []byte) error {
	return h.do(ctx, "set", linearizability.Str(string(value)))
}

func (h *handle) Unset(ctx context.Context) error          { return h.do(ctx, "unset", linearizability.Null) }
func (h *handle) Next(ctx context.Context) ([]byte, error) { return h.remove(ctx, "next") }

func (h *handle) Add(ctx context.Context, delta int64) (int64, error) {
	if delta < 0 {
		return h.count(ctx, "subtract", linearizability.Int(-delta))
	}
	return h.count(ctx, "add", linearizability.Int(delta))
}

// Adds reports whether the counter can subtract, and whether the last addition told its sum.
func (h *handle) Adds() (negative, sum bool) { return h.conn.remote.Can("subtract"), h.summed }

func (h *handle) Get(ctx context.Context) (int64, error) {
	return h.count(ctx, "get", linearizability.Null)
}

func (h *handle) Shut(ctx context.Context) error { return h.do(ctx, "shut", linearizability.Null) }
func (h *handle) Open(ctx context.Context) error { return h.do(ctx, "open", linearizability.Null) }
func (h *handle) Wait(ctx context.Context) error { return h.do(ctx, "wait", linearizability.Null) }

func (h *handle) Lease(ctx context.Context) (int64, error) {
	number, err := h.hold(ctx, "lease", linearizability.Null)
	return number.Int(), err
}

func (h *handle) Free(ctx context.Context) error { return h.giveBack(ctx, "free") }

func (h *handle) Share(ctx context.Context) ([]string, error) {
	own, err := h.hold(ctx, "share", linearizability.Null)
	return strings.Fields(own.String()), err
}

func (h *handle) Stale(ctx context.Context) error { return h.do(ctx, "stale", linearizability.Null) }
func (h *handle) Yield(ctx context.Context) error { return h.giveBack(ctx, "yield") }
