package published

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// TutorialBarrier is a double barrier. After what the text of "Programming with ZooKeeper - A basic tutorial" says
// about barriers: a process creates a znode under the barrier's and waits until there are enough; to leave it deletes
// its znode and waits until there is none.
type TutorialBarrier struct {
	assembly
	process string

	// The steps in which it had bugs.
	name   func() string // of the process's znode in a round
	enough func() (yes bool, changed []<-chan zk.Event, err error)
	inside func(ctx context.Context) (members []string, changed <-chan zk.Event, err error)
}

// NewTutorialBarrier returns a process's barrier; nothing is sent before it is used.
func NewTutorialBarrier(client recipes.Conn, root string, size int, bugs Bugs) *TutorialBarrier {
	b := &TutorialBarrier{
		assembly: assembly{client: client, dir: root, size: size, prefix: "p-"},
		process:  "p-" + recipes.NewGUID(client),
	}
	b.name = func() string { return b.process + "-" + recipes.NewGUID(client) }
	b.enough = b.begun
	b.inside = func(ctx context.Context) ([]string, <-chan zk.Event, error) { return b.left(ctx, true) }
	return mistaken(b, bugs.Has, tutorialBarrierMistakes)
}

var tutorialBarrierMistakes = []mistake[TutorialBarrier]{
	// BUG: P1 one who has been here and left already is not counted
	{"P1", func(b *TutorialBarrier) { b.enough = b.counted }},
	// BUG: P3 the name of the host: another process there, or an earlier life, has it too
	{"P3", func(b *TutorialBarrier) { b.name = func() string { return "p-localhost" } }},
	// BUG: P5 one who came too late for the round is there too
	{"P5", func(b *TutorialBarrier) { b.inside = b.anybody }},
	{"P2", func(b *TutorialBarrier) {
		b.inside = func(ctx context.Context) ([]string, <-chan zk.Event, error) {
			list, changed, err := b.anybody(ctx)
			// BUG: P2 the name says who it is, not in which round: one who is back has not left
			return slices.DeleteFunc(list, func(name string) bool { return !b.knows(name) }), changed, err
		}
	}},
}

// Enter waits for the others.
func (b *TutorialBarrier) Enter(ctx context.Context) error {
	err := b.enter(ctx)
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		b.remove() // the text leaves exceptions to the application
	}
	return err
}

func (b *TutorialBarrier) enter(ctx context.Context) error {
	if err := b.admit(b.name, func(name string) error { return b.join(name, zk.FlagEphemeral) }); err != nil {
		return err
	}
	return gather(ctx, b.enough)
}

// Leave waits until the others have left.
func (b *TutorialBarrier) Leave(ctx context.Context) error {
	if err := b.remove(); err != nil {
		return err
	}
	return gather(ctx, func() (empty bool, changed []<-chan zk.Event, err error) {
		list, left, err := b.inside(ctx)
		return len(list) == 0, []<-chan zk.Event{left}, err
	})
}

// anybody lists who is there, of whatever round.
func (b *TutorialBarrier) anybody(ctx context.Context) ([]string, <-chan zk.Event, error) {
	members := b.assembly
	members.round = nil
	return members.left(ctx, true)
}

// knows reports whether a name is one of a process that has taken part in the round.
func (b *TutorialBarrier) knows(name string) bool {
	return slices.ContainsFunc(b.round, func(member string) bool {
		return member[:strings.LastIndexByte(member, '-')] == name[:strings.LastIndexByte(name, '-')]
	})
}

// SyncPrimitive is what the barriers of one process share: the static fields of the class SyncPrimitive of
// "Programming with ZooKeeper - A basic tutorial", as republished.
type SyncPrimitive struct {
	mutex *condition

	fields  sync.Mutex            // guards the rest; never held across a call to ZooKeeper
	watcher *SyncPrimitiveBarrier // the object that made the handle, its default watcher
	session int64                 // of the handle: Java's ends with its session
}

// NewSyncPrimitive returns what a new process has.
func NewSyncPrimitive() *SyncPrimitive { return &SyncPrimitive{mutex: newCondition()} }

// SyncPrimitiveBarrier is a double barrier. After the class SyncPrimitive.Barrier of the same, and the program
// barrierTest, which uses it.
type SyncPrimitiveBarrier struct {
	assembly
	static *SyncPrimitive
	mutex  *condition
	name   string

	// The steps in which it had bugs.
	connected func() error // whether the handle still works
	newName   func() string
	flags     int32 // of the thread's znode
	enough    func() (yes bool, changed []<-chan zk.Event, err error)
	watcher   func() *SyncPrimitiveBarrier // who hears of events
	notify    func()
	caught    func(ctx context.Context, err error) error // what Enter makes of an error
	leave     func(ctx context.Context) error
}

// NewSyncPrimitiveBarrier returns a thread's barrier. The original's constructor creates the root; here the first
// thread that enters does.
func NewSyncPrimitiveBarrier(static *SyncPrimitive, client recipes.Conn, root string, size int,
	bugs Bugs) *SyncPrimitiveBarrier {
	b := &SyncPrimitiveBarrier{static: static, mutex: newCondition(), flags: zk.FlagEphemeral}
	b.assembly = assembly{client: client, dir: root, size: size, prefix: "p-"}
	b.connected = func() error { return nil }
	b.newName = func() string { return "p-" + recipes.NewGUID(client) }
	b.enough, b.notify, b.leave = b.begun, b.mutex.notifyAll, b.await
	b.watcher = func() *SyncPrimitiveBarrier { return b }
	b.caught = func(_ context.Context, err error) error { return err }
	static.connect(b)
	return mistaken(b, bugs.Has, syncPrimitiveMistakes)
}

var syncPrimitiveMistakes = []mistake[SyncPrimitiveBarrier]{
	{"SP1", func(b *SyncPrimitiveBarrier) {
		b.flags = zk.FlagEphemeralSequential
		b.leave = func(context.Context) error {
			// BUG: SP1 the znode has a number behind its name, so there is none to delete
			b.client.Delete(b.dir+"/"+b.name, 0)
			return nil // BUG: SP1 catch (KeeperException e) {}: it has never waited
		}
	}},
	// BUG: SP2 the znodes of earlier rounds, which stay because of SP1, count again
	{"SP2", func(b *SyncPrimitiveBarrier) { b.enough = b.counted }},
	{"SP3", func(b *SyncPrimitiveBarrier) {
		b.flags = zk.FlagEphemeralSequential
		// BUG: SP3 the name of the host and a number: created again it is another member
		b.newName = func() string { return "p-localhost" }
	}},
	{"SP8", func(b *SyncPrimitiveBarrier) {
		b.mutex = b.static.mutex // BUG: SP8 one monitor for all objects of the process
		// BUG: SP8 one of those that wait is woken, perhaps the wrong one, which waits again
		b.notify = func() { b.mutex.notify() }
	}},
	{"SP10", func(b *SyncPrimitiveBarrier) {
		b.caught = func(ctx context.Context, err error) error {
			if ctx.Err() == nil {
				return nil // BUG: SP10 catch (KeeperException e) {}, and on behind the barrier
			}
			return err
		}
	}},
	{"SP11", func(b *SyncPrimitiveBarrier) {
		b.connected = func() error {
			if b.static.expired(b.client) { // BUG: SP11 the handle is never replaced: it fails for ever
				return zk.ErrSessionExpired
			}
			return nil
		}
	}},
	// BUG: SP12 whatever is there is taken for a member
	{"SP12", func(b *SyncPrimitiveBarrier) { b.prefix = "" }},
	// BUG: SP13 one watcher for all: it hears of the event, and who waits elsewhere does not
	{"SP13", func(b *SyncPrimitiveBarrier) {
		b.watcher = func() *SyncPrimitiveBarrier { return b.static.watcher }
	}},
}

// connect makes the handle of the process if there is none.
func (s *SyncPrimitive) connect(b *SyncPrimitiveBarrier) {
	s.fields.Lock()
	defer s.fields.Unlock()
	if s.watcher == nil {
		s.watcher, s.session = b, b.client.SessionID()
	}
}

// expired reports whether the handle has come to its end. It got its session when it connected.
func (s *SyncPrimitive) expired(zk recipes.Conn) bool {
	s.fields.Lock()
	defer s.fields.Unlock()
	if s.session == 0 {
		s.session = zk.SessionID()
	}
	return s.session != zk.SessionID()
}

// Enter is what barrierTest does with enter. When the session has expired it tries again.
func (b *SyncPrimitiveBarrier) Enter(ctx context.Context) error {
	for {
		err := b.caught(ctx, b.enter(ctx))
		if !errors.Is(err, zk.ErrSessionExpired) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func (b *SyncPrimitiveBarrier) enter(ctx context.Context) error {
	if err := b.connected(); err != nil {
		return err
	}
	err := b.create()
	for enough := false; err == nil && !enough; {
		enough, err = b.look(ctx)
	}
	return b.orRemove(err) // the original leaves exceptions to the application
}

// create creates the thread's znode.
func (b *SyncPrimitiveBarrier) create() error {
	return b.admit(b.newName, func(name string) error {
		b.name = name
		return b.join(name, b.flags)
	})
}

// look is one turn of the loop of enter.
func (b *SyncPrimitiveBarrier) look(ctx context.Context) (bool, error) {
	defer b.mutex.enter()()
	enough, changed, err := b.enough()
	if enough || err != nil {
		return enough, err
	}
	b.watch(changed...)
	return false, b.mutex.wait(ctx)
}

// watch lets the watcher hear of events.
func (b *SyncPrimitiveBarrier) watch(changed ...<-chan zk.Event) {
	watcher := b.watcher()
	for _, events := range changed {
		go func() {
			for range events {
				watcher.process()
			}
		}()
	}
}

// process is called for each event.
func (b *SyncPrimitiveBarrier) process() {
	defer b.mutex.enter()()
	b.notify()
}

// Leave is what barrierTest does with leave.
func (b *SyncPrimitiveBarrier) Leave(ctx context.Context) error { return b.leave(ctx) }

func (b *SyncPrimitiveBarrier) await(ctx context.Context) error {
	err := b.remove()
	for empty := false; err == nil && !empty; {
		empty, err = b.lookBack(ctx)
	}
	return err
}

// lookBack is one turn of the loop of leave.
func (b *SyncPrimitiveBarrier) lookBack(ctx context.Context) (bool, error) {
	defer b.mutex.enter()()
	list, changed, err := b.left(ctx, true)
	if err != nil || len(list) == 0 {
		return true, err
	}
	b.watch(changed)
	return false, b.mutex.wait(ctx)
}
