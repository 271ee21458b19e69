package zoo

import (
	"context"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

// lockBreeds are Apache's WriteLock, by the ways to use it, and the locks of documents and of go-zookeeper.
var lockBreeds = breeds{
	{"W1 W2 W3 W4 W5 W7 W8 W9 W13 W14 W0 L1 L2", writeLock("")},
	{"W6", writeLock(", Java's client").by(goclient.SemanticsJava)},
	{"W10", own(workload.Lock, writeLockNamed(", closed first"), newClosing, workload.Dialect{Callbacks: true}.Option())},
	{"W11 W12 W15", own(workload.Lock, writeLockNamed(", one attempt"), newOneAttempt, workload.Dialect{Callbacks: true}.Option())},
	{"W16", // whose watch it was that fired is not known
		class(workload.Lock, writeLockNamed(", shared by users"), nil, sharedByUsers, workload.Waive("herd"))},
	{"W17 W18 W19",
		own(workload.Lock, "an article with Apache's recipes, Lock in five steps with ", published.NewProseLock)},
	{"LK9",
		own(workload.Lock, "notes on ZooKeeper, Locks in four steps with ", published.NewHerdLock, workload.Unfair())},
	{"LK10", own(workload.RWLock, "notes on ZooKeeper, read and write locks with ", published.NewProseRWLock)},
	{"LK11",
		own(workload.Lock, "notes on ZooKeeper, of sessions with ", published.NewSessionLock).by(goclient.SemanticsJava)},
	{"LK1 LK2 LK3 LK4 LK5 LK6 LK7 LK8 LK12",
		class(workload.Lock, "notes on ZooKeeper, class Locks with ", nil, published.NewLocksUser, workload.Unfair())},
	{"T1 T2", own(workload.Lock, "a lock and its flag with ", published.NewFlagLock)},
	{"L9 L10 L15", goZKLock("6d30b8b")},
	{"L12", goZKLock("before 1d7be4e")},
	{"L13", goZKLock("before f774f13")},
	{"L14", goZKLock("before 21b4929")},
	{"L31", kin("xuqil/zk-lock 075a3e8, Lock")},
	{"L32", kin("DataDog/kafka-kit v4.2.1, ZooKeeperLock")},
	{"L33", kin("curator-go/curator 8a961ea, InterProcessMutex")},
	{"L34", kin("vitessio/vitess#15756, zktopo")},
}

func writeLockNamed(use string) string { return "published/WriteLock" + use + ", bugs: " }

func writeLock(use string) breed {
	return own(workload.Lock, writeLockNamed(use), published.NewLocker, workload.Dialect{Callbacks: true}.Option())
}

func goZKLock(commit string) breed { return kin("go-zookeeper " + commit + ", Lock") }

// kin is a lock that goes the way of go-zookeeper's.
func kin(name string) breed {
	return own(workload.Lock, name+" with ", published.NewGoZKLock).mendedAs("go-zookeeper, Lock with ")
}

// newOneAttempt makes a lock that tries an operation once, as no episode has faults for ten times.
func newOneAttempt(c recipes.Conn, path string, bugs published.Bugs) *published.Locker {
	l := published.NewLocker(c, path, bugs)
	l.SetRetryCount(1)
	return l
}

// sharedByUsers has those of one process share one WriteLock. Whose grant its callback tells of is not known.
func sharedByUsers(one **published.Locker, c recipes.Conn, path string, bugs published.Bugs) *published.Locker {
	if *one == nil {
		*one = published.NewLocker(c, path, bugs)
	}
	return (*one).Other()
}

// closing is a user that makes a WriteLock for each time, and closes it before it unlocks it.
type closing struct {
	*published.Locker
	new func() *published.Locker
}

func newClosing(c recipes.Conn, path string, bugs published.Bugs) *closing {
	return &closing{new: func() *published.Locker { return published.NewLocker(c, path, bugs) }}
}

func (c *closing) Lock(ctx context.Context) error {
	c.Locker = c.new()
	return c.Locker.Lock(ctx)
}

func (c *closing) Unlock(ctx context.Context) error {
	c.Close()
	return c.Locker.Unlock(ctx)
}
