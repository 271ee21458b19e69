package fakezk

import (
	"reflect"
	"testing"

	"github.com/zktorture/zktorture/internal/classed"
)

// Every field of what an ensemble and a client consist of is in the hash of the state, follows from what is, or changes
// nothing about the future. A field that is added must be put into a class here, and if need be into the hash.
func TestFieldsAreClassed(t *testing.T) {
	classed.Check(t, reflect.TypeFor[Ensemble](), map[string]string{
		"OnCommit OnEvent OnQueued OnTransaction": "constant: set once",
		"cfg":                     "constant: of the choices that make the episode, which are in the key",
		"replicas leading epoch":  classed.Hashed,
		"old":                     classed.Hashed,
		"committed":               "follows: each replica's zxid and how far it is behind",
		"log sessions local":      classed.Hashed,
		"connections":             "follows: open ones by their replicas, others by their clients, who alone know them",
		"admin":                   "follows: from leading",
		"reapAt noQuorum":         classed.Hashed,
		"membership":              "follows: it is data of /zookeeper/config",
		"pending edits responses": "scratch: of one request", "names passwords": "scratch: memory",
		"shaper": "scratch: for coverage", "logged": "scratch: memory", "hits": "scratch: of one event",
	})
	classed.Check(t, reflect.TypeFor[replica](), map[string]string{
		"tree": classed.Hashed, "applied": "follows: behind", "lagging data child connections sessions": classed.Hashed,
	})
	classed.Check(t, reflect.TypeFor[tree](), map[string]string{
		"nodes": classed.Hashed, "root": "follows: nodes", "owned": "follows: owner of each node; listed in an order by seed",
		"zxid": classed.Hashed, "free lists spare": "scratch: memory", "quotas": "follows: paths of nodes", "seed compat": "constant",
	})
	classed.Check(t, reflect.TypeFor[node](), map[string]string{
		"path": classed.Hashed, "name order parent": "follows: path and seed", "children": "follows: paths of nodes",
		"data acl czxid mzxid pzxid ctime mtime version created aversion owner": classed.Hashed,
		"calling": "follows: name", "slot": "scratch: place in a list that is sorted when it is read",
	})
	classed.Check(t, reflect.TypeFor[session](), map[string]string{
		"id timeout deadline owner": classed.Hashed, "closed": classed.Hashed + " with its connections",
	})
	classed.Check(t, reflect.TypeFor[connection](), map[string]string{
		"id": "constant: known to its client alone", "session": classed.Hashed, "replica": "follows: index",
		"index timeout open hangs address ids super": classed.Hashed,
		"sasl":    "constant: clients in process do not log in by SASL",
		"watches": "follows: the tables", "queue": classed.Hashed + " from head on", "head": "follows: queue",
	})
	classed.Check(t, reflect.TypeFor[watchTable](), map[string]string{
		"lists": classed.Hashed, "recursive": "follows: lists", "spare": "scratch: memory",
	})
	classed.Check(t, reflect.TypeFor[watcher](), map[string]string{"c modes": classed.Hashed})
	classed.Check(t, reflect.TypeFor[deposed](), map[string]string{"index noticeAt sessions": classed.Hashed})
	classed.Check(t, reflect.TypeFor[transaction](), map[string]string{"zxid time session edits closer": classed.Hashed})
	classed.Check(t, reflect.TypeFor[edit](), map[string]string{"op path data acl owner sequential": classed.Hashed})
	classed.Check(t, reflect.TypeFor[Message](), map[string]string{"Reply Event Path Zxid Closed": classed.Hashed})
	classed.Check(t, reflect.TypeFor[Response](), map[string]string{
		"Zxid": classed.Hashed + " with several replicas: a lone one refuses no client", "Err Path Data Stat": classed.Hashed,
		"Children Number ACL Results": classed.Hashed,
	})
	classed.Check(t, reflect.TypeFor[Result](), map[string]string{"Op Err Path Data Stat Children": classed.Hashed})
	classed.Check(t, reflect.TypeFor[Request](), map[string]string{
		"Op Path Data ACL Flags TTL Version Watch Kind Ops RelativeZxid": classed.Hashed,
		"DataWatches ExistWatches ChildWatches PersistentWatches":        classed.Hashed,
		"RecursiveWatches Joining Leaving Members ConfigVersion Scheme":  classed.Hashed,
		"Auth": classed.Hashed,
	})
	classed.Check(t, reflect.TypeFor[Client](), map[string]string{
		"network servers settle Semantics SettlesWoken HoldEvents GUIDSeed OnExpired": "constant",
		"conn":                                   "follows: the connection itself is hashed",
		"connected server session state timeout": classed.Hashed,
		"replica":                                "follows: server",
		"stalled late expiries":                  classed.Hashed, "latestRoom callsRoom watchesRoom": "scratch: memory", "OnLate OnWait": "constant", "password": "follows: session",
		"lastZxid":            classed.Hashed + ", with one replica as far as watches depend on it",
		"creds":               classed.Hashed + " by number: which they are is in the history of its calls",
		"unsent sent waiting": classed.Hashed,
		"watches events readers latest silent closing closed killed": classed.Hashed, "dead buried refused": "follows: of a process that has died nothing else matters",
		"reading": "scratch: a lock",
	})
	classed.Check(t, reflect.TypeFor[Call](), map[string]string{
		"Request User Tag internal": classed.Hashed, "client": "constant",
		"reply watch done": "follows: empty until the call completes, and then it is in no list",
	})
	classed.Check(t, reflect.TypeFor[watch](), map[string]string{
		"topic user tag": classed.Hashed, "ch": classed.Hashed + " by how much is in it",
	})
	classed.Check(t, reflect.TypeFor[reader](), map[string]string{"user held": classed.Hashed, "ch": classed.Hashed + " by how much is in it"})
}

// Watches that are armed at the servers are in the hash: what they will tell is sent to whoever has armed them.
func TestWatchesAreInTheStateHash(t *testing.T) {
	hash := func(op Op, watch bool) uint64 {
		e := New(Config{})
		conn, _, err := e.Connect(0, 0, ConnectRequest{Timeout: 4000})
		if err != nil {
			t.Fatal(err)
		}
		e.Request(0, conn, &Request{Op: op, Path: "/", Watch: watch})
		if m, ok := e.Next(conn); !ok || m.Reply == nil || m.Reply.Err != CodeOK {
			t.Fatalf("%v: %+v", op, m)
		}
		return e.StateHash(View{})
	}
	for _, op := range []Op{OpExists, OpGetData, OpGetChildren2} {
		if hash(op, true) == hash(op, false) {
			t.Errorf("%v: the hash is the same with a watch and without", op)
		}
	}
	if hash(OpGetData, true) == hash(OpGetChildren2, true) {
		t.Error("the hash is the same with a watch of the data and one of the children")
	}
}
