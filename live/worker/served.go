package worker

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/workload/cluster"
)

// What a user of a served recipe has, where that is not the recipe itself.

// claims is a user of a locking queue, which has one claim at a time.
type claims struct {
	workload.LockingQueuer
	workload.Claimed // the present claim, or an example of one
}

func servedClaims(recipe any) any {
	q, is := recipe.(workload.LockingQueuer)
	if !is {
		return nil
	}
	c := &claims{LockingQueuer: q}
	if e, has := q.(interface{ ExampleClaim() workload.Claimed }); has {
		c.Claimed = e.ExampleClaim()
	}
	return c
}

// HasMethod reports whether the queue, or its claims, have a method that not every one has.
func (c *claims) HasMethod(method string) (has bool) {
	switch method {
	case "TryClaim":
		_, has = c.LockingQueuer.(tryClaimer)
	case "Release":
		_, has = c.Claimed.(releaser)
	case "Token":
		_, has = c.Claimed.(itemTokener)
	default:
		has = true
	}
	return has
}

type (
	tryClaimer interface {
		TryClaim(context.Context) (workload.Claimed, error)
	}
	releaser    interface{ Release(context.Context) error }
	itemTokener interface{ Token() string }
)

func (c *claims) Claim(ctx context.Context) ([]byte, error) {
	return c.claimed(c.LockingQueuer.Claim(ctx))
}

func (c *claims) TryClaim(ctx context.Context) ([]byte, error) {
	return c.claimed(c.LockingQueuer.(tryClaimer).TryClaim(ctx))
}

func (c *claims) claimed(claim workload.Claimed, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	c.Claimed = claim
	return claim.Data(), nil
}

func (c *claims) Release(ctx context.Context) error { return c.Claimed.(releaser).Release(ctx) }
func (c *claims) Token() string                     { return c.Claimed.(itemTokener).Token() }

// held is what can tell whether the claim lasts.
func (c *claims) held() any { return c.Claimed }

// member is a user of a group, under the name by which it joined last.
type member struct {
	new  func(name string) workload.Grouper
	name string
	workload.Grouper
}

func servedMember(recipe any) any {
	new, is := recipe.(func(name string) workload.Grouper)
	if !is {
		return nil
	}
	return &member{new: new, Grouper: new("")}
}

// HasMethod reports whether groups have a method that not every one has.
func (m *member) HasMethod(method string) bool {
	_, watches := m.Grouper.(watcher)
	return method != "Changed" || watches
}

type watcher interface {
	Changed(ctx context.Context, known []string) ([]string, error)
}

func (m *member) Join(ctx context.Context, name []byte) error {
	if m.name != string(name) {
		m.name, m.Grouper = string(name), m.new(string(name))
	}
	return m.Grouper.Join(ctx)
}

func (m *member) Members(ctx context.Context) ([]byte, error) { return listed(m.Grouper.Members(ctx)) }

func (m *member) Changed(ctx context.Context, known []byte) ([]byte, error) {
	return listed(m.Grouper.(watcher).Changed(ctx, strings.Fields(string(known))))
}

func listed(names []string, err error) ([]byte, error) {
	return []byte(strings.Join(slices.Sorted(slices.Values(names)), " ")), err
}

func (m *member) held() any { return m.Grouper }

// instance is a user of a registry, under the name by which it registered last.
type instance struct {
	new  func(name string) cluster.Registrar
	name string
	cluster.Registrar
}

func servedInstance(recipe any) any {
	new, is := recipe.(func(name string) cluster.Registrar)
	if !is {
		return nil
	}
	return &instance{new: new, Registrar: new("")}
}

func (i *instance) Register(ctx context.Context, name []byte) error {
	if i.name != string(name) {
		i.name, i.Registrar = string(name), i.new(string(name))
	}
	return i.Registrar.Register(ctx)
}

// Deregister has nothing to do in a process that has not registered.
func (i *instance) Deregister(ctx context.Context) error {
	err := i.Registrar.Deregister(ctx)
	if errors.Is(err, recipes.ErrNotHeld) {
		return nil
	}
	return err
}

func (i *instance) List(ctx context.Context) ([]byte, error) { return listed(i.Registrar.List(ctx)) }

func (i *instance) Changed(ctx context.Context, known []byte) ([]byte, error) {
	return listed(i.Registrar.Changed(ctx, strings.Fields(string(known))))
}

// counter is a counter that subtracts by adding.
type counter struct{ workload.Adder }

func servedCounter(recipe any) any {
	if a, is := recipe.(workload.Adder); is {
		return counter{a}
	}
	return nil
}

// adds is what the counter says of itself.
func (c counter) adds() (negative, sum bool) {
	if says, can := c.Adder.(interface{ Adds() (negative, sum bool) }); can {
		return says.Adds()
	}
	return true, true
}

// HasMethod reports whether the counter can subtract.
func (c counter) HasMethod(method string) bool {
	negative, _ := c.adds()
	return method != "Subtract" || negative
}

// Add returns the sum; nil if the counter does not tell it.
func (c counter) Add(ctx context.Context, delta int64) (*int64, error) {
	sum, err := c.Adder.Add(ctx, delta)
	if _, told := c.adds(); err != nil || !told {
		return nil, err
	}
	return &sum, nil
}

func (c counter) Subtract(ctx context.Context, delta int64) (*int64, error) {
	return c.Add(ctx, -delta)
}
