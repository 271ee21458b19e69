package workload

import (
	"context"
	"runtime"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// secondObject is a second object of the recipe under test, which a user takes while it holds the first. A simulated
// recipe may use whatever path it likes, also the same for all objects, and then its second object is the first,
// which its holder would wait for. So it changes nothing outside of its path: its first try to do so ends it.
type secondObject struct {
	recipe any
	holder
	take, give func(context.Context) error
	path       string

	mu     sync.Mutex // guards what follows: a recipe may send from several goroutines
	strays int        // how often it has tried to
	quit   context.CancelFunc
}

// maxStrays is how often an object is told that it must not. One that takes no error for an answer would try for ever.
const maxStrays = 10

// begin notes that a call is under way, which quit ends.
func (s *secondObject) begin(quit context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quit = quit
}

// stray notes that the object has tried to. It is false if it has been told often enough.
func (s *secondObject) stray() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strays++
	s.quit()
	return s.strays <= maxStrays
}

// strayed says whether the object has tried to.
func (s *secondObject) strayed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.strays > 0
}

// theInner is what a second object is to its holder.
var theInner = role{noun: "the inner lock", acquire: "inner", release: "inner-release"}

// method is how the object is taken. It is not, without an error, if it strays.
func (s *secondObject) method() method {
	return method{try: func(ctx context.Context) (bool, error) {
		ctx, quit := context.WithCancel(ctx)
		defer quit()
		s.begin(quit)
		err, back := s.apart(ctx)
		switch {
		case s.strayed():
			return false, nil
		case !back:
			runtime.Goexit() // the process is dead
		}
		return err == nil, err
	}}
}

// apart takes the object on a goroutine of its own, which a recipe that goes on straying loses. It is false if that has
// ended before the recipe came back.
func (s *secondObject) apart(ctx context.Context) (err error, back bool) {
	came := make(chan error, 1)
	go func() {
		defer close(came)
		came <- s.take(ctx)
	}()
	err, back = <-came
	return err, back
}

// fenced is the connection of a second object.
type fenced struct {
	recipes.Conn
	inner recipes.Conn
	of    *secondObject
}

// fence returns a connection over which the object can change nothing outside of its path.
func (s *secondObject) fence(c recipes.Conn) recipes.Conn {
	f := &fenced{inner: c, of: s}
	f.Conn = recipes.Around(c, func(op, path string, send func() error) error {
		switch op {
		case "create", "set", "delete", "setACL":
			if err := f.check(path); err != nil {
				return err
			}
		}
		return send()
	})
	return f
}

// check returns an error if a znode is not the object's. What is above it may be made, and is there.
func (f *fenced) check(path string) error {
	own := f.of.path
	if path == own || strings.HasPrefix(path, own+"/") || path == "/" || strings.HasPrefix(own, path+"/") {
		return nil
	}
	if !f.of.stray() {
		runtime.Goexit()
	}
	return zk.ErrNoAuth
}

// NewGUID takes names from where the connection has them, see [recipes.NewGUID].
func (f *fenced) NewGUID() string { return recipes.NewGUID(f.inner) }

func (f *fenced) BeginsToWait() { recipes.BeginsToWait(f.inner) }

// SessionEvents implements [recipes.EventSource].
func (f *fenced) SessionEvents() <-chan zk.Event { return recipes.SessionEvents(f.inner) }

// Multi checks each part.
func (f *fenced) Multi(ops ...any) ([]zk.MultiResponse, error) {
	for _, op := range ops {
		var err error
		switch op := op.(type) {
		case *zk.CreateRequest:
			err = f.check(op.Path)
		case *zk.DeleteRequest:
			err = f.check(op.Path)
		case *zk.SetDataRequest:
			err = f.check(op.Path)
		}
		if err != nil {
			return nil, err
		}
	}
	return f.inner.Multi(ops...)
}
