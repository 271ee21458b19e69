package recipes

import (
	"context"
	"errors"
	"testing"
)

func TestUnknownOutcomeError(t *testing.T) {
	var err error = &UnknownOutcomeError{Op: "poll", Path: "/q/qn-1", Err: context.Canceled}
	if !errors.Is(err, ErrUnknownOutcome) || !errors.Is(err, context.Canceled) || errors.Is(err, ErrEmpty) {
		t.Errorf("%v is the wrong kind of error", err)
	}
	const text = "recipes: /q/qn-1: nobody knows whether the poll has happened (context canceled)"
	if err.Error() != text {
		t.Errorf("without data: %v", err)
	}
	err.(*UnknownOutcomeError).Data = []byte("x")
	if err.Error() != text+"; its data is in the error" {
		t.Errorf("with data: %v", err)
	}
}
