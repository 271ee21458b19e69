package workload

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zktorture/zktorture/sim"
)

// A counterexample that the simulator has found is shown to be true, or not, by making the same happen on
// real servers: each client is behind a turnstile, and requests, replies and events are let through in the order of
// the trace. Where something else comes than in the simulation, that is where the two differ.

// Turnstile is where a client's requests, replies and events pass one by one.
type Turnstile interface {
	Shut()                                                  // nothing passes any more but one by one
	Open()                                                  // everything passes
	Request(ctx context.Context) error                      // waits for the client's next request
	PassRequest(ctx context.Context) error                  // and waits until the server has answered
	PassReply(ctx context.Context) (code int32, err error)  // the reply's error, 0 for none
	PassEvent(ctx context.Context) (path string, err error) // of a watch
	Cut()
	Connect(ctx context.Context) error
	Expire(ctx context.Context) error // the client does not learn of it before Closed
	Closed()
}

// Confirmation is what came of a counterexample on real servers.
type Confirmation struct {
	// Violation is the counterexample's, as it was seen there; nil if it was not.
	Violation *sim.Violation
	// Others are what else was seen to be broken, which nobody may have looked for.
	Others []sim.Violation
	// Step is the first at which the real servers did otherwise, and Difference what; 0 and empty if they
	// never did.
	Step       int
	Difference string
	// Untried says why it was not tried at all: what cannot be made to happen on real servers.
	Untried string
}

// ConductConfig says how to make a counterexample happen.
type ConductConfig struct {
	// Open opens a session behind a turnstile that is open, and that is the session's Link.
	Open     func(ctx context.Context) (*Session, Turnstile, error)
	Patience time.Duration // for each step; default 3 s
}

// Conduct makes the run of a counterexample happen on real servers. The error is for what could not be done.
func (w *Workload) Conduct(ctx context.Context, c *sim.Counterexample, replayed *sim.Replayed, cfg ConductConfig) (*Confirmation, error) {
	if why := unconductible(replayed); why != "" {
		return &Confirmation{Untried: why}, nil
	}
	if cfg.Patience == 0 {
		cfg.Patience = 3 * time.Second
	}
	admin := func(ctx context.Context) (*Session, error) {
		s, _, err := cfg.Open(ctx)
		return s, err
	}
	live := LiveConfig{Open: admin, Root: sim.Root0, Rounds: 1, Lanes: 1, Clients: c.Clients, Ops: c.Ops, Patience: 2 * cfg.Patience}.withDefaults()
	var confirmed *Confirmation
	_, err := w.onRoot(ctx, live, func(r *liveRun) error {
		var err error
		confirmed, err = r.conduct(ctx, c, replayed, cfg)
		return err
	})
	return confirmed, err
}

// unconductible says what of a trace cannot be made to happen on real servers.
func unconductible(r *sim.Replayed) string {
	for _, s := range r.Trace {
		if s.Kind != sim.KindFault {
			continue
		}
		switch name := strings.TrimPrefix(s.Event, "! "); {
		case name == "lag" || name == "pause" || name == "time" || name == "crash":
			return fmt.Sprintf("step %d: %s cannot be made to strike on real servers", s.N, name)
		case strings.Contains(s.Result, "no server can be reached") || strings.Contains(s.Result, "begins without"):
			return fmt.Sprintf("step %d: %s", s.N, s.Result)
		}
	}
	if r.Record != nil && r.Record.Struck.Has(sim.Wrap) {
		return "the numbers of znodes begin elsewhere"
	}
	return ""
}

// conductor makes the steps of a trace happen.
type conductor struct {
	round      *liveRound
	turnstiles []Turnstile
	cfg        ConductConfig

	mu       sync.Mutex
	wishes   []*wish        // not granted yet
	marks    map[opMark]int // how often each has happened …
	due      map[opMark]int // … and how often in the trace so far
	changed  chan struct{}  // closed and replaced by each wish and mark
	released bool           // everything is granted
}

// conduct runs one round by the trace.
func (r *liveRun) conduct(ctx context.Context, c *sim.Counterexample, replayed *sim.Replayed, cfg ConductConfig) (*Confirmation, error) {
	object := r.cfg.Root
	plan, err := c.Plan(object)
	if err != nil {
		return nil, err
	}
	e := r.workload.plan(plan, object+"/"+r.workload.kind)
	l := &liveRound{run: r, ctx: ctx, episode: e, object: object, path: object + "/" + r.workload.kind}
	d := &conductor{round: l, cfg: cfg, changed: make(chan struct{}), marks: map[opMark]int{}, due: map[opMark]int{}}
	for range e.users() {
		s, g, err := cfg.Open(ctx)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		l.sessions, d.turnstiles = append(l.sessions, s), append(d.turnstiles, g)
	}
	if err := l.prepare(); err != nil {
		return nil, err
	}
	for _, g := range d.turnstiles {
		g.Shut()
	}
	l.conductor = d
	l.start()
	out := &Confirmation{}
	out.Step, out.Difference = d.follow(ctx, replayed.Trace)
	d.free()
	l.finish()
	v := l.view()
	v.faulty = true
	j := l.episode.judge(v)
	j.settle()
	if len(v.waiting) == 0 {
		j.add(l.leftovers(object)...)
	}
	for i := range j.Violations {
		if sameProperty(c.Property, j.Violations[i].Property) && out.Violation == nil {
			out.Violation = &j.Violations[i]
		} else {
			out.Others = append(out.Others, j.Violations[i])
		}
	}
	return out, nil
}

// sameProperty tells whether two names are of one property. Why somebody waits for ever is not always to be
// seen on real servers.
func sameProperty(a, b string) bool {
	blocked := []string{"progress", "lost-wakeup", "self-block"}
	return a == b || slices.Contains(blocked, a) && slices.Contains(blocked, b)
}

// follow makes one step after the other happen; it returns the first at which something else came.
func (d *conductor) follow(ctx context.Context, trace []sim.Step) (step int, difference string) {
	for _, s := range trace {
		turn, cancel := context.WithTimeout(ctx, d.cfg.Patience)
		err := d.turn(turn, s)
		cancel()
		if err != nil {
			return s.N, fmt.Sprintf("%s: %v", strings.TrimSpace(s.Event+" "+s.Path), err)
		}
	}
	return 0, ""
}

// turn makes one step happen.
func (d *conductor) turn(ctx context.Context, s sim.Step) error {
	if s.Client < 0 {
		return d.world(s)
	}
	g := d.turnstiles[s.Client]
	switch s.Kind {
	case sim.KindExchange, sim.KindRequest:
		if s.Event == "setWatches" || s.Event == "auth" {
			return nil // the client library's own, which passes by itself
		}
		if err := d.request(ctx, g, s); err != nil || s.Kind == sim.KindRequest {
			return err
		}
		return d.reply(ctx, g, s)
	case sim.KindReply:
		return d.reply(ctx, g, s)
	case sim.KindCall, sim.KindReturn:
		return d.awaitMark(ctx, opMark{s.Client, s.User, s.Kind})
	case sim.KindWatch:
		path, err := g.PassEvent(ctx)
		if err == nil && !samePath(s.Path, path) {
			err = fmt.Errorf("the event is of %s", path)
		}
		return err
	case sim.KindConnect:
		return g.Connect(ctx)
	case sim.KindClosed:
		g.Closed()
	case sim.KindShared:
		if s.Event == "alone" {
			return nil // somebody knows that all others have finished
		}
		return d.grant(ctx, s)
	case sim.KindFault:
		return d.fault(ctx, g, s)
	}
	return nil
}

// world makes a step happen that is no client's.
func (d *conductor) world(s sim.Step) error {
	if s.Kind == sim.KindFault && strings.HasPrefix(s.Event, "! reap") {
		d.round.reap()
	}
	return nil
}

// opMark is the begin or the end of an operation of a user.
type opMark struct {
	client, user int
	kind         sim.Kind
}

// mark notes that a user has begun or ended an operation.
func (d *conductor) mark(m opMark) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.marks[m]++
	d.stir()
}

// stir tells whoever waits that something has changed.
func (d *conductor) stir() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// awaitMark waits until a user has come as far as in the trace.
func (d *conductor) awaitMark(ctx context.Context, m opMark) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due[m]++
	for d.marks[m] < d.due[m] {
		changed := d.changed
		d.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		d.mu.Lock()
		if ctx.Err() != nil {
			return fmt.Errorf("the user has not come so far")
		}
	}
	return nil
}

// request lets the request of a step through, if it is that.
func (d *conductor) request(ctx context.Context, g Turnstile, s sim.Step) error {
	if err := d.grant(ctx, s); err != nil {
		return err
	}
	return g.PassRequest(ctx)
}

// reply lets the reply of a step through, which has to be an error if and only if it was one there.
func (d *conductor) reply(ctx context.Context, g Turnstile, s sim.Step) error {
	code, err := g.PassReply(ctx)
	if failed := strings.HasPrefix(s.Result, "zk: "); err == nil && failed != (code != 0) {
		err = fmt.Errorf("the reply has the error %d, and not %s", code, s.Result)
	}
	return err
}

// fault makes a client's fault strike.
func (d *conductor) fault(ctx context.Context, g Turnstile, s sim.Step) error {
	switch name := strings.TrimPrefix(s.Event, "! "); name {
	case "loss":
		return d.lose(ctx, g, s)
	case "watch": // if it is not lost it is held back, and passes when its step comes
		if s.Lost == sim.LostEvent {
			g.Cut()
		}
	case "expiry":
		return g.Expire(ctx)
	case "cancel":
		d.round.mu.Lock()
		defer d.round.mu.Unlock()
		d.round.giveUp(d.round.running(s.Client))
	}
	return nil
}

// lose breaks the connection with what is lost on it.
func (d *conductor) lose(ctx context.Context, g Turnstile, s sim.Step) error {
	switch s.Lost {
	case sim.LostRequest:
		if err := d.grant(ctx, s); err != nil {
			return err
		}
		if err := g.Request(ctx); err != nil {
			return err
		}
	case sim.LostReply:
		if err := d.request(ctx, g, s); err != nil {
			return err
		}
	}
	g.Cut()
	return nil
}

// free lets everybody go on as they like.
func (d *conductor) free() {
	d.release()
	for _, g := range d.turnstiles {
		g.Open()
	}
}

// sequence is the number at the end of a sequential znode's name.
var sequence = regexp.MustCompile(`-?[0-9]{10}$`)

// samePath tells whether a path of the simulation and one of real servers are the same but for what is
// random in them: as deep, and with the same number at the end.
func samePath(simulated, real string) bool {
	below := func(path string) int { return strings.Count(path, "/") }
	return below(simulated) == below(real) && sequence.FindString(simulated) == sequence.FindString(real)
}
