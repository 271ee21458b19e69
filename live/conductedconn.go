package live

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// conductedConn asks the conductor before each request. Users who share a session would else send theirs in
// whatever order.
type conductedConn struct {
	recipes.Conn // the session's, but for what is asked before
	life         *life
	user         int
	refused      bool // the first request fails; guarded by the conductor, as is …
	asked        bool // … that the user has asked for something
	guids        atomic.Uint64
	told         int // how often the client had been told of an end of its session when something was granted last
}

func newConductedConn(p *life, user int, refused bool) *conductedConn {
	c := &conductedConn{life: p, user: user, refused: refused}
	c.Conn = recipes.Around(p.watches.of(p.session.Conn), c.send)
	return c
}

// Unwrap returns the session's connection.
func (c *conductedConn) Unwrap() recipes.Conn { return c.life.session.Conn }

// NewGUID returns the identity that the user has got in the simulation, so that names sort as they did there.
func (c *conductedConn) NewGUID() string {
	return fakezk.GUID(sim.GUIDSeed(c.life.client, c.life.number), c.user, c.guids.Add(1))
}

// SessionEvents implements [recipes.EventSource].
func (c *conductedConn) SessionEvents() <-chan zk.Event { return recipes.SessionEvents(c.Conn) }

// CreateProtectedEphemeralSequential takes the identity from NewGUID.
func (c *conductedConn) CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string, error) {
	return recipes.CreateProtected(c, path, data, acl)
}

// toldBefore tells whether all ends of sessions that the client knows of were known when something was granted last.
func (c *conductedConn) toldBefore() bool {
	d := c.life.conductor
	d.mu.Lock()
	defer d.mu.Unlock()
	return c.told > 0 && c.told == c.life.told
}

// mark notes that the user begins or ends an operation, unless its process is dead: then its goroutine ends.
func (c *conductedConn) mark(kind sim.Kind, op *sim.Op) {
	if c.life.dead() {
		runtime.Goexit()
	}
	op.Life = c.life.number
	c.life.conductor.mark(opMark{c.life.client, c.user, kind})
}

// wish is what somebody would like to do next: send a request, or reach what clients share outside of
// ZooKeeper.
type wish struct {
	conn         *conductedConn
	client, user int
	op, path     string     // the operation as traces name it, or outsideZK
	answer       chan error // nil if it is granted; an error if it fails
	returned     bool       // of a request: its caller has the reply, or an error; guarded by the conductor
}

// outsideZK is the op of a wish that is no request.
const outsideZK = "what clients share"

func (w *wish) String() string { return fmt.Sprintf("%s %s", w.op, w.path) }

// fits tells whether a wish is what a line of the trace is about.
func (w *wish) fits(s sim.Step) bool {
	op := s.Request
	if s.Kind == sim.KindShared {
		op = outsideZK
	}
	return w.client == s.Client && (s.User < 0 || w.user == s.User) && w.op == op &&
		(w.op == "multi" || s.Path == "" || samePath(s.Path, w.path))
}

// unsendable tells whether the client itself refuses a request for its path, and sends nothing.
func unsendable(op, path string) bool {
	sequential := op == "create" // it may be
	return !slices.Contains([]string{outsideZK, "multi", "auth", "close"}, op) && fakezk.ValidatePath(path, sequential) != nil
}

// ask waits until the request may be sent; the error is that with which it fails. Who has the reply calls done.
func (c *conductedConn) ask(op, path string) (done func(), err error) {
	if unsendable(op, path) {
		return func() {}, nil
	}
	d := c.life.conductor
	w := &wish{conn: c, client: c.life.client, user: c.user, op: op, path: path, answer: make(chan error, 1)}
	err = d.ask(w)
	if err == errDead {
		runtime.Goexit()
	}
	return func() { d.returned(w) }, err
}

// returned notes that somebody has what became of a request.
func (d *conductor) returned(w *wish) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.returned = true
	d.stir()
}

// ask waits until a wish is granted, which it is at once when everybody is free, or fails.
func (d *conductor) ask(w *wish) error {
	if answered, err := d.atOnce(w); answered {
		return err
	}
	select {
	case err := <-w.answer:
		return err
	case <-d.round.ctx.Done():
		return nil
	}
}

// atOnce answers a wish that need not wait, and else notes it.
func (d *conductor) atOnce(w *wish) (answered bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.conn.asked = true
	switch {
	case w.conn.life.died != 0:
		return true, errDead
	case w.conn.refused && w.op != outsideZK:
		w.conn.refused = false
		return true, zk.ErrNoServer
	case d.released:
		return true, nil
	}
	d.wishes = append(d.wishes, w)
	d.stir()
	return false, nil
}

// grant lets what a step is about be done.
func (d *conductor) grant(ctx context.Context, s sim.Step) (w *wish, err error) {
	granted := d.await(ctx, func() bool {
		i := slices.IndexFunc(d.wishes, func(w *wish) bool { return w.fits(s) })
		if i >= 0 {
			w = d.wishes[i]
			d.wishes = slices.Delete(d.wishes, i, i+1)
			w.conn.told = w.conn.life.told
			w.answer <- nil
		}
		return i >= 0
	})
	if !granted {
		return nil, fmt.Errorf("the client %s", d.wants(s.Client))
	}
	return w, nil
}

// wants says what a client would like to send.
func (d *conductor) wants(client int) string {
	var all []string
	for _, w := range d.pending(func(w *wish) bool { return w.client == client }) {
		all = append(all, w.String())
	}
	if len(all) == 0 {
		return "asks for nothing"
	}
	return "asks for " + strings.Join(all, " and ")
}

// pending lists wishes that are neither granted nor have failed.
func (d *conductor) pending(which func(*wish) bool) (found []*wish) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.wishes {
		if which(w) {
			found = append(found, w)
		}
	}
	return found
}

// answer grants wishes, or ends them with an error.
func (d *conductor) answer(which func(*wish) bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wishes = slices.DeleteFunc(d.wishes, func(w *wish) bool {
		hit := which(w)
		if hit {
			w.answer <- err
		}
		return hit
	})
}

// release grants everything, now and later.
func (d *conductor) release() {
	d.mu.Lock()
	d.released = true
	d.mu.Unlock()
	d.answer(func(*wish) bool { return true }, nil)
}

// sequence is the number at the end of a sequential znode's name.
var sequence = regexp.MustCompile(`-?[0-9]{10}$`)

// samePath tells whether a path of the simulation and one of real servers are the same but for what is
// random in them: as deep, and with the same number at the end.
func samePath(simulated, real string) bool {
	below := func(path string) int { return strings.Count(path, "/") }
	return below(simulated) == below(real) && sequence.FindString(simulated) == sequence.FindString(real)
}

// send sends a request when the conductor lets it.
func (c *conductedConn) send(op, path string, send func() error) error {
	done, err := c.ask(op, path)
	if err != nil {
		return err
	}
	defer done()
	return send()
}
