package worker

import (
	"context"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
)

// handle is a user's access to an object of another process's, and what it holds there.
type handle struct {
	conn         *remoteConn
	path         string
	incarnation  int // number of the process that holds what was acquired last
	expiriesSeen int // how many sessions were over by then
	token        int64
}

func (h *handle) call(ctx context.Context, op string, arg linearizability.Value, life int) (Answer, error) {
	answer, err := h.conn.remote.Do(ctx, Call{User: h.conn.user, Path: h.path, Op: op, Arg: arg, Incarnation: life})
	h.conn.session = answer.Session
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
	return answer.Result.Int(), err
}

// acquire carries out an operation that gets hold of something. The result is a token, or whether it did, or nothing.
func (h *handle) acquire(ctx context.Context, op string) (bool, error) {
	told := h.conn.remote.ExpiriesSeen()
	answer, err := h.call(ctx, op, linearizability.Null, 0)
	if err != nil || answer.Result == linearizability.Bool(false) {
		return false, err
	}
	h.incarnation, h.expiriesSeen, h.token = answer.Incarnation, told, answer.Result.Int()
	return true, nil
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
	// A user asks between its operations, and waits as long as the process sleeps.
	ask := Call{User: h.conn.user, Path: h.path, Op: "owner", Incarnation: h.incarnation}
	answer, err := h.conn.remote.Do(context.Background(), ask)
	return err == nil && answer.Result == linearizability.Bool(true)
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
