package worker

import (
	"context"
	"errors"
	"strconv"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// Served is what one user can do with an object, by the names of histories.
type Served map[string]func(ctx context.Context, arg linearizability.Value) (linearizability.Value, error)

type operation = func(ctx context.Context, arg linearizability.Value) (linearizability.Value, error)

// operationOf is an operation by a method of a recipe; nil if the method is of no kind of operation.
func operationOf(name string, recipe, method any) operation {
	switch do := method.(type) {
	case func(context.Context) error:
		if operations.Of(name).Role == operations.Grant {
			return granting(recipe, do)
		}
		return plain(do)
	case func(context.Context) (bool, error):
		return trying(recipe, do)
	case func(context.Context) ([]byte, error):
		return removing(do)
	case func(context.Context) ([]string, error):
		return removing(func(ctx context.Context) ([]byte, error) { return listed(do(ctx)) })
	case func(context.Context, []byte) error:
		return func(ctx context.Context, item linearizability.Value) (linearizability.Value, error) {
			return linearizability.Null, do(ctx, []byte(item.String()))
		}
	case func(context.Context) (int64, error):
		return func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
			n, err := do(ctx)
			return linearizability.Int(n), err
		}
	case func(context.Context, []byte) ([]byte, error):
		return func(ctx context.Context, arg linearizability.Value) (linearizability.Value, error) {
			return removing(func(ctx context.Context) ([]byte, error) { return do(ctx, []byte(arg.String())) })(ctx, arg)
		}
	case func(context.Context, int64) (*int64, error):
		return adding(do)
	case func() string:
		return func(context.Context, linearizability.Value) (linearizability.Value, error) {
			return linearizability.Str(do()), nil
		}
	}
	return nil
}

// calling is an operation of a user's kind.
func calling(recipe caller, op string) operation {
	return func(ctx context.Context, arg linearizability.Value) (linearizability.Value, error) {
		result, err := recipe.Call(ctx, op, string(dataOf(arg)))
		return textOf(result), err
	}
}

// textOf is a text; null if it is empty.
func textOf(text string) linearizability.Value {
	if text == "" {
		return linearizability.Null
	}
	return linearizability.Str(text)
}

// adding is an operation that returns a sum; nil if the recipe does not tell it.
func adding(add func(context.Context, int64) (*int64, error)) operation {
	return func(ctx context.Context, delta linearizability.Value) (linearizability.Value, error) {
		sum, err := add(ctx, delta.Int())
		switch {
		case err != nil:
			return number(suspect(err)), err
		case sum == nil:
			return linearizability.Null, nil
		}
		return linearizability.Int(*sum), nil
	}
}

// plain is an operation with neither argument nor result.
func plain(do func(context.Context) error) operation {
	return func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
		return linearizability.Null, do(ctx)
	}
}

// granting is an operation that waits for something; the result is the token, if the recipe has any.
func granting(recipe any, do func(context.Context) error) operation {
	return func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
		if err := do(ctx); err != nil {
			return linearizability.Null, err
		}
		return tokenOf(recipe), nil
	}
}

// trying is an operation that does not wait; the result is the token, or whether it got what it tried for.
func trying(recipe any, do func(context.Context) (bool, error)) operation {
	return func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
		got, err := do(ctx)
		if err != nil || !got {
			return linearizability.Bool(false), err
		}
		if token := tokenOf(recipe); !token.IsNull() {
			return token, nil
		}
		return linearizability.Bool(true), nil
	}
}

func tokenOf(recipe any) linearizability.Value {
	if t, ok := recipe.(interface{ Token() int64 }); ok {
		return linearizability.Int(t.Token())
	}
	return linearizability.Null
}

// addOwner adds the question whether the user still holds what it got, if the recipe can tell.
func (o Served) addOwner(recipe any) {
	of := func() any { return recipe }
	if u, is := recipe.(interface{ held() any }); is {
		of = u.held
	}
	if _, tells := stillHolds(of()); !tells {
		return
	}
	o["owner"] = func(context.Context, linearizability.Value) (linearizability.Value, error) {
		still, _ := stillHolds(of())
		return linearizability.Bool(still()), nil
	}
}

// stillHolds asks whether what a recipe has got lasts, if it can tell.
func stillHolds(recipe any) (still func() bool, tells bool) {
	switch r := recipe.(type) {
	case interface{ Lost() <-chan struct{} }:
		return func() bool { return !isClosed(r.Lost()) }, true
	case interface{ IsOwner() bool }:
		return r.IsOwner, true
	}
	return nil, false
}

// number reads a decimal number; null if it is none.
func number(text string) linearizability.Value {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return linearizability.Null
	}
	return linearizability.Int(n)
}

// removing is an operation that returns an item; null if there is none.
func removing(remove func(context.Context) ([]byte, error)) operation {
	return func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
		data, err := remove(ctx)
		switch {
		case err == nil:
			return linearizability.Str(string(data)), nil
		case errors.Is(err, recipes.ErrEmpty):
			return linearizability.Null, nil
		case suspect(err) != "":
			return linearizability.Str(suspect(err)), err
		}
		return linearizability.Null, err
	}
}

// suspect returns what an operation of unknown outcome has returned if it happened; "" if the error does not say that.
func suspect(err error) string {
	var unknown *recipes.UnknownOutcomeError
	if errors.As(err, &unknown) {
		return string(unknown.Data)
	}
	return ""
}

// callError is the error of an operation that failed in another process: text is what it said, and unknown
// that it may have happened all the same, with this result then.
func callError(call Call, text string, unknown bool, result linearizability.Value) error {
	err := errors.New(text)
	if !unknown {
		return err
	}
	return &recipes.UnknownOutcomeError{Op: call.Op, Path: call.Path, Data: dataOf(result), Err: err}
}

func dataOf(result linearizability.Value) []byte {
	switch {
	case result.IsNull():
		return nil
	case result.IsInt():
		return strconv.AppendInt(nil, result.Int(), 10)
	}
	return []byte(result.String())
}

// outcomeOpen reports whether an error of a recipe's says that the operation may have happened, rather than
// only that it failed.
func outcomeOpen(err error) bool {
	return errors.Is(err, recipes.ErrUnknownOutcome) || workload.Disconnected(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
