package confirm

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
)

// replayedConn asks the replayer before each request. Otherwise users of one session would send theirs in any order.
type replayedConn struct {
	recipes.Wrapper // of the session's, but for what is asked before
	incarnation     *incarnation
	user            int
	refused         bool // the first request fails; guarded by the replayer, as is …
	asked           bool // … that the user has asked for something
	guids           atomic.Uint64
	expiriesSeen    int           // how often the client had been told of an end of its session when the user went on last …
	wentOn          time.Duration // … and when, in the trace, that was
}

func newReplayedConn(p *incarnation, user int, refused bool) *replayedConn {
	c := &replayedConn{incarnation: p, user: user, refused: refused}
	c.Conn = recipes.Around(c.late(&watchedConn{recipes.Wrapper{Conn: p.session.Conn}, p.watches.wrap}), c.send)
	return c
}

// Unwrap returns the session's connection.
func (c *replayedConn) Unwrap() recipes.Conn { return c.incarnation.session.Conn }

// NewGUID returns the identity that the user has got in the simulation, so that names sort as they did there.
func (c *replayedConn) NewGUID() string {
	return goclient.GUID(world.GUIDSeed(c.incarnation.client, c.incarnation.number), c.user, c.guids.Add(1))
}

// CreateProtectedEphemeralSequential takes the identity from NewGUID.
func (c *replayedConn) CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string, error) {
	return recipes.CreateProtected(c, path, data, acl)
}

// pendingRequest is a user's next step: a request, or access to a resource outside ZooKeeper.
type pendingRequest struct {
	conn         *replayedConn
	client, user int
	op, path     string     // the operation as traces name it, or outsideZK
	answer       chan error // nil if it is granted; an error if it fails
	returned     bool       // of a request: its caller has the reply, or an error; guarded by the replayer
}

// outsideZK is the op of a pending request that is no request.
const outsideZK = "what clients share"

func (w *pendingRequest) String() string { return fmt.Sprintf("%s %s", w.op, w.path) }

// fits reports whether a pending request is what a line of the trace is about.
func (w *pendingRequest) fits(s world.Step) bool {
	op := s.Request
	if s.Kind == world.KindShared {
		op = outsideZK
	}
	return w.client == s.Client && (s.User < 0 || w.user == s.User) && w.op == op &&
		(w.op == "multi" || w.op == "setWatches" || s.Path == "" || samePath(s.Path, w.path))
}

// ask waits until the request may be sent; the error is that with which it fails. Who has the reply calls done.
func (c *replayedConn) ask(op, path string) (done func(), err error) {
	if op != outsideZK && goclient.Unsendable(op, path) {
		return func() {}, nil
	}
	r := c.incarnation.replayer
	w := &pendingRequest{conn: c, client: c.incarnation.client, user: c.user, op: op, path: path, answer: make(chan error, 1)}
	err = r.ask(w)
	if err == errDead {
		runtime.Goexit()
	}
	return func() { r.returned(w) }, err
}

// returned notes that a user has received the outcome of a request.
func (r *replayer) returned(w *pendingRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.returned = true
	r.stir()
}

// ask waits until a pending request is granted or fails. After free it is granted at once.
func (r *replayer) ask(w *pendingRequest) error {
	if answered, err := r.atOnce(w); answered {
		return err
	}
	select {
	case err := <-w.answer:
		return err
	case <-r.ctx.Done():
		return nil
	}
}

// atOnce answers a pending request that need not wait, and else notes it.
func (r *replayer) atOnce(w *pendingRequest) (answered bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.conn.asked = true
	switch {
	case w.conn.incarnation.dead:
		return true, errDead
	case w.conn.refused && w.op != outsideZK:
		w.conn.refused = false
		return true, zk.ErrNoServer
	case r.released:
		return true, nil
	}
	r.requests = append(r.requests, w)
	r.stir()
	return false, nil
}

// grant lets what a step is about be done.
func (r *replayer) grant(ctx context.Context, s world.Step) (w *pendingRequest, err error) {
	granted := r.await(ctx, func() bool {
		i := slices.IndexFunc(r.requests, func(w *pendingRequest) bool { return w.fits(s) })
		if i >= 0 {
			w = r.requests[i]
			r.requests = slices.Delete(r.requests, i, i+1)
			w.conn.goesOn(s.At)
			w.answer <- nil
		}
		return i >= 0
	})
	if !granted {
		return nil, fmt.Errorf("the client %s", r.wants(s.Client))
	}
	return w, nil
}

// goesOn notes that the user goes on. The replayer is locked.
func (c *replayedConn) goesOn(now time.Duration) {
	c.expiriesSeen, c.wentOn = c.incarnation.expiriesSeen, now
}

// wait waits until d has passed in the trace since the user went on last.
func (c *replayedConn) wait(d time.Duration) {
	r, dead := c.incarnation.replayer, false
	r.await(r.ctx, func() bool {
		due := c.wentOn + d
		if dead = c.incarnation.dead; dead || r.released || r.now < due {
			return dead || r.released
		}
		c.goesOn(due)
		return true
	})
	if dead {
		runtime.Goexit()
	}
}

// wants says what a client would like to send.
func (r *replayer) wants(client int) string {
	var all []string
	for _, w := range r.pending(func(w *pendingRequest) bool { return w.client == client }) {
		all = append(all, w.String())
	}
	if len(all) == 0 {
		return "asks for nothing"
	}
	return "asks for " + strings.Join(all, " and ")
}

// pending lists pending requests that are neither granted nor have failed.
func (r *replayer) pending(which func(*pendingRequest) bool) (found []*pendingRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.requests {
		if which(w) {
			found = append(found, w)
		}
	}
	return found
}

// answer grants pending requests, or ends them with an error.
func (r *replayer) answer(which func(*pendingRequest) bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = slices.DeleteFunc(r.requests, func(w *pendingRequest) bool {
		hit := which(w)
		if hit {
			w.answer <- err
		}
		return hit
	})
}

// release grants everything, now and later.
func (r *replayer) release() {
	r.mu.Lock()
	r.released = true
	r.stir()
	for _, l := range r.lying {
		close(l.told)
	}
	r.lying = nil
	r.mu.Unlock()
	r.answer(func(*pendingRequest) bool { return true }, nil)
}

// sequence is the number at the end of a sequential znode's name.
var sequence = regexp.MustCompile(`-?[0-9]{10}$`)

// samePath reports whether a path of the simulation and one of real servers are the same but for what is
// random in them: as deep, and with the same number at the end.
func samePath(simulated, real string) bool {
	below := func(path string) int { return strings.Count(path, "/") }
	return below(simulated) == below(real) && sequence.FindString(simulated) == sequence.FindString(real)
}

// send sends a request when the replayer lets it. Whoever has sent it gets the outcome when the replayer lets them.
func (c *replayedConn) send(op, path string, send func() error) error {
	done, err := c.ask(op, path)
	if err != nil {
		return err
	}
	err = send()
	wait := c.lies(world.Lying{Op: op, Path: path})
	done()
	wait()
	return err
}
