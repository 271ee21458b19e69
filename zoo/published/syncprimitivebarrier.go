package published

import (
	"context"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

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
}

// NewSyncPrimitiveBarrier returns a thread's barrier. The original's constructor creates the root; here the first
// thread that enters does.
func NewSyncPrimitiveBarrier(static *SyncPrimitive, client recipes.Conn, root string, size int,
	bugs Bugs) *SyncPrimitiveBarrier {
	b := &SyncPrimitiveBarrier{static: static, mutex: newCondition()}
	b.assembly = assembly{client: client, dir: root, size: size, prefix: "p-", bugs: bugs}
	if bugs.Has("SP12") { // BUG: SP12 whatever is there is taken for a member
		b.prefix = ""
	}
	if bugs.Has("SP8") { // BUG: SP8 one monitor for all objects of the process
		b.mutex = static.mutex
	}
	static.connect(b)
	return b
}

// connect makes the handle of the process if there is none.
func (s *SyncPrimitive) connect(b *SyncPrimitiveBarrier) {
	s.fields.Lock()
	defer s.fields.Unlock()
	if s.watcher == nil {
		s.watcher, s.session = b, b.client.SessionID()
	}
}

// expired tells whether the handle has come to its end. It got its session when it connected.
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
		err := b.enter(ctx)
		if b.bugs.Has("SP10") && ctx.Err() == nil { // BUG: SP10 catch (KeeperException e) {}, and on behind the barrier
			return nil
		}
		if !errors.Is(err, zk.ErrSessionExpired) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func (b *SyncPrimitiveBarrier) enter(ctx context.Context) error {
	if b.bugs.Has("SP11") && b.static.expired(b.client) { // BUG: SP11 the handle is never replaced: it fails for ever
		return zk.ErrSessionExpired
	}
	err := b.create()
	for enough := false; err == nil && !enough; {
		enough, err = b.look(ctx)
	}
	return b.orRemove(err) // the original leaves exceptions to the application
}

// create creates the thread's znode.
func (b *SyncPrimitiveBarrier) create() error {
	flags := int32(zk.FlagEphemeral)
	if b.bugs.Has("SP3") || b.bugs.Has("SP1") {
		flags = zk.FlagEphemeralSequential
	}
	return b.admit(b.newName, func(name string) error {
		b.name = name
		return b.join(name, flags)
	})
}

func (b *SyncPrimitiveBarrier) newName() string {
	name := "p-" + recipes.NewGUID(b.client)
	if b.bugs.Has("SP3") { // BUG: SP3 the name of the host and a number: created again it is another member
		name = "p-localhost"
	}
	return name
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

func (b *SyncPrimitiveBarrier) enough() (bool, []<-chan zk.Event, error) {
	if b.bugs.Has("SP2") { // BUG: SP2 the znodes of earlier rounds, which stay because of SP1, count again
		return b.counted()
	}
	return b.begun()
}

// watch lets the watcher hear of events.
func (b *SyncPrimitiveBarrier) watch(changed ...<-chan zk.Event) {
	watcher := b
	if b.bugs.Has("SP13") { // BUG: SP13 one watcher for all: it hears of the event, and who waits elsewhere does not
		watcher = b.static.watcher
	}
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
	if b.bugs.Has("SP8") { // BUG: SP8 one of those that wait is woken, perhaps the wrong one, which waits again
		b.mutex.notify()
		return
	}
	b.mutex.notifyAll()
}

// Leave is what barrierTest does with leave.
func (b *SyncPrimitiveBarrier) Leave(ctx context.Context) error {
	err := b.leave(ctx)
	if b.bugs.Has("SP1") { // BUG: SP1 catch (KeeperException e) {}: it has never waited
		return nil
	}
	return err
}

func (b *SyncPrimitiveBarrier) leave(ctx context.Context) error {
	if b.bugs.Has("SP1") { // BUG: SP1 the znode has a number behind its name, so there is none to delete
		return b.client.Delete(b.dir+"/"+b.name, 0)
	}
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
