package bubble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// The end of an operation's context reaches one goroutine after the other: first those that wait for
// it, in the order in which they began to, then derived contexts in the order in which they were
// derived. Each goes on until it blocks before the next is told. (They write without a lock: the race
// detector would see two at a time.)
func TestContextEndsForOneAfterTheOther(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		waiters, derived := rapid.IntRange(0, 6).Draw(rt, "waiters"), rapid.IntRange(0, 4).Draw(rt, "derived")
		synctest.Test(t, func(t *testing.T) {
			var told, want []string
			ctx, end := newContext()
			wait := func(name string, ctx context.Context) {
				want = append(want, name)
				go func() {
					<-ctx.Done()
					time.Sleep(time.Nanosecond) // others could go on here
					told = append(told, name)
					if !errors.Is(ctx.Err(), context.Canceled) {
						t.Errorf("%s: the error is %v", name, ctx.Err())
					}
				}()
				synctest.Wait()
			}
			for i := range waiters {
				wait(fmt.Sprint("waiter ", i), ctx)
			}
			for i := range derived {
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				wait(fmt.Sprint("derived ", i), child)
			}
			end(func() { time.Sleep(time.Microsecond); synctest.Wait() })
			if !slices.Equal(told, want) {
				t.Errorf("told %v, want %v", told, want)
			}
		})
	})
}

// Who waits again and again without looking at the error does not keep the context from ending.
func TestContextEndsForWhoDoesNotLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := newContext()
		go func() {
			for range 100 {
				<-ctx.Done()
			}
		}()
		synctest.Wait()
		end(synctest.Wait)
		synctest.Wait()
	})
}

// A derived context that was ended by its owner is not told any more, and one that is derived after
// the end has ended.
func TestDerivedContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := newContext()
		calls := 0
		stop := context.AfterFunc(ctx, func() { calls++ })
		kept := make(chan int, 1)
		context.AfterFunc(ctx, func() { kept <- 1 })
		if !stop() || stop() {
			t.Error("stop says otherwise than context.AfterFunc promises")
		}
		end(synctest.Wait)
		end(synctest.Wait)
		<-kept
		if calls != 0 {
			t.Error("what was stopped is called")
		}
		late, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		if late.Err() == nil {
			t.Error("a context derived from one that has ended has not")
		}
	})
}

// A context that ends late has ended for who asks, and who waits does not know before it is told.
func TestContextEndsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, endLate, end := newLateContext()
		told := 0
		for range 2 {
			go func() {
				<-ctx.Done()
				told++
			}()
		}
		synctest.Wait()
		endLate()
		if synctest.Wait(); told != 0 {
			t.Errorf("%d of those who wait were told at once", told)
		}
		select {
		case <-ctx.Done():
		default:
			t.Error("who looks sees no end")
		}
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		if ctx.Err() == nil || child.Err() == nil {
			t.Errorf("the errors are %v, and %v of a derived context", ctx.Err(), child.Err())
		}
		end(synctest.Wait)
		if synctest.Wait(); told != 2 {
			t.Errorf("%d of those who wait were told, want 2", told)
		}
	})
}

// newContext returns a context, and what ends it; settle waits until whoever was told has blocked again.
func newContext() (ctx context.Context, end func(settle func())) {
	c := NewContext()
	return c, c.End
}

// newLateContext is newContext, and what ends it for who asks, and not for who waits.
func newLateContext() (ctx context.Context, endLate func(), end func(settle func())) {
	c := NewContext()
	return c, c.EndLate, c.End
}
