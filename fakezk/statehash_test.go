package fakezk

import (
	"reflect"
	"testing"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
)

// Every field of what an ensemble consists of is in the hash of the state, follows from what is, or changes
// nothing about the future. A field that is added must be put into a class here, and if need be into the hash.
func TestFieldsAreClassed(t *testing.T) {
	testkit.FieldsAreClassed(t, reflect.TypeFor[Ensemble](), map[string]string{
		"Hooks": "constant: set once", "cfg": "constant: of the choices that make the episode, which are in the key",
		"cluster sessions reaper noQuorum": testkit.Hashed,
		"streams":                          "follows: open ones by their replicas, others by their clients, who alone know them",
		"admin":                            "follows: who leads",
		"proposer":                         "follows: the leader's tree, of which the members are data",
		"edits":                            "scratch: of one request", "shaper": "scratch: for coverage",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[cluster](), map[string]string{
		"replicas leading epoch old log": testkit.Hashed, "edits": "scratch: memory",
		"committed": "follows: each replica's zxid and how far it is behind",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[proposer](), map[string]string{
		"cfg": "constant", "tree": "follows: the leader's tree", "pending": "scratch: of one request",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[reaper](), map[string]string{"at": testkit.Hashed})
	testkit.FieldsAreClassed(t, reflect.TypeFor[replica](), map[string]string{
		"tree lagging data child connections sessions": testkit.Hashed, "index streams": "constant",
		"applied": "follows: behind", "hits": "scratch: of one event",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[tree](), map[string]string{
		"nodes": testkit.Hashed, "root": "follows: nodes", "owned": "follows: owner of each node; listed in an order by seed",
		"zxid": testkit.Hashed, "free lists spare": "scratch: memory", "seed wraps": "constant",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[node](), map[string]string{
		"path": testkit.Hashed, "name order parent": "follows: path and seed", "children": "follows: paths of nodes",
		"data acl czxid mzxid pzxid ctime mtime version created aversion owner": testkit.Hashed,
		"calling": "follows: name", "slot": "scratch: place in a list that is sorted when it is read",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[session](), map[string]string{
		"id timeout deadline owner": testkit.Hashed, "closed": testkit.Hashed + " with its connections",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[connection](), map[string]string{
		"id": "constant: known to its client alone", "session": testkit.Hashed, "replica": testkit.Hashed,
		"timeout open hangs address ids super": testkit.Hashed,
		"watches":                              "follows: the tables", "queue": testkit.Hashed + " from head on", "head": "follows: queue",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[watchTable](), map[string]string{
		"lists": testkit.Hashed, "recursive": "follows: lists", "spare": "scratch: memory",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[watcher](), map[string]string{"c modes": testkit.Hashed})
	testkit.FieldsAreClassed(t, reflect.TypeFor[deposed](), map[string]string{"index noticeAt sessions": testkit.Hashed})
	testkit.FieldsAreClassed(t, reflect.TypeFor[transaction](), map[string]string{"zxid time session edits closer": testkit.Hashed})
	testkit.FieldsAreClassed(t, reflect.TypeFor[edit](), map[string]string{"op path data acl owner sequential": testkit.Hashed})
	testkit.FieldsAreClassed(t, reflect.TypeFor[Message](), map[string]string{"Reply Event Path Zxid Closed": testkit.Hashed})
	testkit.FieldsAreClassed(t, reflect.TypeFor[Response](), map[string]string{
		"Zxid": testkit.Hashed + " with several replicas: a lone one refuses no client", "Err Path Data Stat": testkit.Hashed,
		"Children ACL Results": testkit.Hashed,
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[Result](), map[string]string{"Op Err Path Stat": testkit.Hashed})
	testkit.FieldsAreClassed(t, reflect.TypeFor[Request](), map[string]string{
		"Op Path Data ACL Flags TTL Version Watch Kind Ops RelativeZxid": testkit.Hashed,
		"DataWatches ExistWatches ChildWatches PersistentWatches":        testkit.Hashed,
		"RecursiveWatches Scheme":                                        testkit.Hashed,
		"Auth":                                                           testkit.Hashed, "Since": "follows: the version of the node when the request is carried out, and the plan",
	})
}

// Watches that are armed at the servers are in the hash: what they will tell is sent to whoever has armed them.
func TestWatchesAreInTheStateHash(t *testing.T) {
	hash := func(op wire.Op, watch bool) uint64 {
		e := New(Config{})
		conn, _, err := e.Connect(0, 0, ConnectRequest{Timeout: 4000})
		if err != nil {
			t.Fatal(err)
		}
		e.Request(0, conn, &Request{Op: op, Path: "/", Watch: watch})
		if m, ok := e.Next(conn); !ok || m.Reply == nil || m.Reply.Err != wire.CodeOK {
			t.Fatalf("%v: %+v", op, m)
		}
		return View{}.StateHash(e)
	}
	for _, op := range []wire.Op{wire.OpExists, wire.OpGetData, wire.OpGetChildren2} {
		if hash(op, true) == hash(op, false) {
			t.Errorf("%v: the hash is the same with a watch and without", op)
		}
	}
	if hash(wire.OpGetData, true) == hash(wire.OpGetChildren2, true) {
		t.Error("the hash is the same with a watch of the data and one of the children")
	}
}
