package worker

import (
	"context"
	"strings"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// handle is a user's access to an object of another process's, and what it holds there.
type handle struct {
	kind         kind
	conn         *remoteConn
	path         string
	name         string // of a member of a group
	incarnation  int    // number of the process that holds what was acquired last
	expiriesSeen int    // how many sessions were over by then
	token        int64
	summed       bool // the last addition told its sum
}

// of is the handle of a member of a group, or an instance of a service.
func (h *handle) of(name string) *handle {
	member := *h
	member.name = name
	return &member
}

func (h *handle) call(ctx context.Context, op string, arg linearizability.Value, life int) (Answer, error) {
	answer, err := h.conn.remote.Do(ctx, Call{User: h.conn.user, Path: h.path, Op: op, Arg: arg, Incarnation: life})
	h.conn.session, h.conn.incarnation = answer.Session, answer.Incarnation
	return answer, err
}

// do carries out an operation without a result.
func (h *handle) do(ctx context.Context, op string, arg linearizability.Value) error {
	_, err := h.call(ctx, op, arg, 0)
	return err
}

// count carries out an operation whose result is a number.
func (h *handle) count(ctx context.Context, op string, arg linearizability.Value) (int64, error) {
	answer, err := h.call(ctx, op, arg, 0)
	h.summed = !answer.Result.IsNull()
	return answer.Result.Int(), err
}

// hold carries out an operation that gets hold of something, unless its result is false or, of a claim, null.
func (h *handle) hold(ctx context.Context, op string, arg linearizability.Value) (linearizability.Value, error) {
	told := h.conn.remote.ExpiriesSeen()
	answer, err := h.call(ctx, op, arg, 0)
	if err == nil {
		h.incarnation, h.expiriesSeen, h.token = answer.Incarnation, told, answer.Result.Int()
	}
	return answer.Result, err
}

// acquire is hold where the result is a token, or whether it did, or nothing.
func (h *handle) acquire(ctx context.Context, op string) (bool, error) {
	result, err := h.hold(ctx, op, linearizability.Null)
	return err == nil && result != linearizability.Bool(false), err
}

func (h *handle) take(ctx context.Context, op string) error {
	_, err := h.acquire(ctx, op)
	return err
}

// giveBack ends what the handle holds. If the process that held it is no more, it was lost with it.
func (h *handle) giveBack(ctx context.Context, op string) error {
	_, err := h.call(ctx, op, linearizability.Null, h.incarnation)
	return err
}

// Token is 0 if the recipe has none.
func (h *handle) Token() int64 { return h.token }

// GoesBySession reports whether the recipe cannot tell if it is the owner.
func (h *handle) GoesBySession() bool { return !h.conn.remote.Can("owner") }

// IsOwner asks the recipe, if it can tell. A user of one that cannot looks after its session itself.
func (h *handle) IsOwner() bool {
	if h.GoesBySession() {
		return h.conn.remote.ExpiriesSeen() == h.expiriesSeen
	}
	result, err := h.ask("owner")
	return err == nil && result == linearizability.Bool(true)
}

// ask asks something about what the handle holds. A user does that between its operations, and waits as long as the
// process sleeps.
func (h *handle) ask(op string) (linearizability.Value, error) {
	answer, err := h.conn.remote.Do(context.Background(),
		Call{User: h.conn.user, Path: h.path, Op: op, Incarnation: h.incarnation})
	return answer.Result, err
}

// remove carries out an operation that returns an item, or says that there is none.
func (h *handle) remove(ctx context.Context, op string) ([]byte, error) {
	answer, err := h.call(ctx, op, linearizability.Null, 0)
	switch {
	case err != nil:
		return nil, err
	case answer.Result.IsNull():
		return nil, recipes.ErrEmpty
	}
	return []byte(answer.Result.String()), nil
}

// list carries out an operation that returns the names of members.
func (h *handle) list(ctx context.Context, op string, arg linearizability.Value) ([]string, error) {
	answer, err := h.call(ctx, op, arg, 0)
	if err != nil {
		return nil, err
	}
	return strings.Fields(answer.Result.String()), nil
}

// claim is a claim on an item, and the handle by which it was got.
type claim struct {
	handle
	data  []byte
	token string // the item's; "" if it has none
}

func (h *handle) claim(ctx context.Context, op string) (workload.Claimed, error) {
	item, err := h.hold(ctx, op, linearizability.Null)
	switch {
	case err != nil:
		return nil, err
	case item.IsNull():
		return nil, recipes.ErrEmpty
	}
	c := &claim{handle: *h, data: []byte(item.String())}
	if h.conn.remote.Can("token") {
		token, err := h.ask("token")
		if err != nil {
			return nil, err
		}
		c.token = token.String()
	}
	return c, nil
}
