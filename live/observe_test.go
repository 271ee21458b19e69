package live_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/internal/testkit/broken"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// thief steals replies to deletes of a queue's items on their way from real servers, by breaking the
// connection instead. It knows what it has stolen.
type thief struct {
	mu      sync.Mutex
	seen    int
	removed map[string]bool // items whose deletion was answered by ok, which the client never saw
	unread  map[string]bool // items whose deletion's answer, if there is one, was behind one that was stolen
}

// every is how many deletes there are to one whose reply is stolen.
const every = 7

func (th *thief) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	return &watched{Conn: conn, thief: th, asked: map[int32]string{}, doomed: map[int32]bool{}}, nil
}

// watched is a connection that is stolen from.
type watched struct {
	net.Conn
	thief *thief

	mu     sync.Mutex
	asked  map[int32]string // paths of deletes without a reply, by the numbers of requests
	doomed map[int32]bool   // those whose reply is to be stolen
	frame  bytes.Buffer     // what is read and not yet handed over
	begun  bool             // the first reply is to the connect request, and has no header
}

const opDelete = 2

// Write sees the requests; go-zookeeper writes each by one call. A frame is the length, the request's
// number, its kind and what is asked for: of a delete, the path first.
func (c *watched) Write(frame []byte) (int, error) {
	if len(frame) > 16 && binary.BigEndian.Uint32(frame[8:]) == opDelete {
		path := frame[16:]
		path = path[:min(len(path), int(binary.BigEndian.Uint32(frame[12:])))]
		c.ask(int32(binary.BigEndian.Uint32(frame[4:])), string(path))
	}
	return c.Conn.Write(frame)
}

func (c *watched) ask(number int32, path string) {
	c.thief.mu.Lock()
	defer c.thief.mu.Unlock()
	if !strings.Contains(path, "/qn-") {
		return
	}
	c.thief.seen++
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[number], c.doomed[number] = path, c.thief.seen%every == 0
}

var errStolen = errors.New("the connection is broken")

// Read hands replies over, frame by frame, up to one that is stolen.
func (c *watched) Read(p []byte) (int, error) {
	if c.frame.Len() == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	return c.frame.Read(p)
}

func (c *watched) next() error {
	var length [4]byte
	if _, err := io.ReadFull(c.Conn, length[:]); err != nil {
		return err
	}
	body := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(c.Conn, body); err != nil {
		return err
	}
	if c.begun && c.steal(body) {
		c.Conn.Close()
		return errStolen
	}
	c.begun = true
	c.frame.Write(length[:])
	c.frame.Write(body)
	return nil
}

// steal reports whether a reply is to be stolen. A reply is the request's number, the zxid, and the
// error, 0 for none.
func (c *watched) steal(body []byte) bool {
	c.thief.mu.Lock()
	defer c.thief.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	number := int32(binary.BigEndian.Uint32(body))
	path := c.asked[number]
	delete(c.asked, number)
	if !c.doomed[number] {
		return false
	}
	if binary.BigEndian.Uint32(body[12:]) == 0 {
		c.thief.removed[path] = true
	}
	for _, behind := range c.asked {
		c.thief.unread[behind] = true
	}
	return true
}

// careless is a broken queue that asks once for an item to be removed, whatever becomes of the reply.
type careless struct {
	workload.Queuer
	conn recipes.Conn
	path string
}

func newCareless(c recipes.Conn, path string) workload.Queuer {
	return careless{broken.NewQueue(c, path), c, path}
}

func (q careless) Poll(context.Context) ([]byte, error) {
	names, _, err := q.conn.Children(q.path)
	if err != nil && err != zk.ErrNoNode {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		data, _, err := q.conn.Get(q.path + "/" + name)
		if err == nil {
			err = q.conn.Delete(q.path+"/"+name, -1)
		}
		if err != zk.ErrNoNode {
			return data, err
		}
	}
	return nil, recipes.ErrEmpty
}

// TestLostRepliesAreSettled: on real servers, where replies to deletes are stolen, the history says
// of each removal whose reply was lost what it has removed, and how that is known; and it says so of
// none but those.
func TestLostRepliesAreSettled(t *testing.T) {
	e := ensembletest.Start(t, 1)
	ours, err := workload.Find("queue", workload.Ours)
	if err != nil {
		t.Fatal(err)
	}
	for recipe, w := range map[string]*workload.Workload{workload.Ours: ours, "careless": workload.Queue(newCareless)} {
		t.Run(recipe, func(t *testing.T) {
			th := &thief{removed: map[string]bool{}, unread: map[string]bool{}}
			patience := 5 * time.Second
			if recipe == workload.Ours {
				patience = testkit.Hang
			}
			var file bytes.Buffer
			r, err := live.Run(t.Context(), w, live.Config{
				Open: openerBy(e.ConnectString(), th.dial), Root: "/settled", Seed: 1, Rounds: 40, Clients: 3, Ops: 4,
				History: &file, Patience: patience,
			})
			if err != nil {
				t.Fatal(err)
			}
			h, err := histories.Read(&file)
			if err != nil {
				t.Fatal(err)
			}
			if recipe == workload.Ours {
				verdicts := linearizability.Check(linearizability.Queue(), h, linearizability.Options{})
				if linearizability.Worst(verdicts) != linearizability.Ok || len(r.Violations) > 0 {
					t.Errorf("the recipe is correct, but %s (%s): %v, %v", r.Verdict, r.Reason, r.Violations, verdicts)
				}
			}
			th.compare(t, h)
		})
	}
}

// compare holds what the history says to what was stolen.
func (th *thief) compare(t *testing.T, h linearizability.History) {
	t.Helper()
	said := 0
	for _, op := range h {
		_, note, resolved := strings.Cut(op.Note, "resolved: ")
		path, _, named := strings.Cut(note, " (czxid 0x")
		switch {
		case op.Op == "offer" || op.Op == "peek":
		case resolved && strings.Contains(op.Note, context.Canceled.Error()): // cancelled while it removed something
		case op.Outcome == linearizability.Unknown && !resolved:
			t.Logf("not resolved: %v: %s", op, op.Note)
		case !resolved:
		case op.Outcome == linearizability.Fail && !strings.HasPrefix(note, "it had no effect"),
			op.Outcome == linearizability.OK:
			t.Errorf("%v: %s", op, op.Note)
		case op.Outcome == linearizability.Fail:
		case !named || !th.removed[path] && !th.unread[path] || op.Result.IsNull():
			t.Errorf("%v did not remove that: %s", op, op.Note)
		case th.removed[path]:
			said++
			delete(th.removed, path)
		}
	}
	if said == 0 || len(th.removed) > said {
		t.Errorf("%d removals were resolved; not these: %v", said, th.removed)
	}
	t.Logf("%d removals were resolved, %d not", said, len(th.removed))
}
