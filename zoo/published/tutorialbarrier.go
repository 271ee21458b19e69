package published

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// TutorialBarrier is a double barrier. After what the text of "Programming with ZooKeeper - A basic tutorial" says
// about barriers: a process creates a znode under the barrier's and waits until there are enough; to leave it deletes
// its znode and waits until there is none.
type TutorialBarrier struct {
	assembly
	process string
}

// NewTutorialBarrier returns a process's barrier; nothing is sent before it is used.
func NewTutorialBarrier(client recipes.Conn, root string, size int, bugs Bugs) *TutorialBarrier {
	return &TutorialBarrier{
		assembly: assembly{client: client, dir: root, size: size, prefix: "p-", bugs: bugs},
		process:  "p-" + recipes.NewGUID(client),
	}
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

// name is the name of the process's znode in a round.
func (b *TutorialBarrier) name() string {
	if b.bugs.Has("P3") { // BUG: P3 the name of the host: another process there, or an earlier life, has it too
		return "p-localhost"
	}
	return b.process + "-" + recipes.NewGUID(b.client)
}

// enough tells whether enough processes have created their znodes.
func (b *TutorialBarrier) enough() (bool, []<-chan zk.Event, error) {
	if b.bugs.Has("P1") { // BUG: P1 one who has been here and left already is not counted
		return b.counted()
	}
	return b.begun()
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

// inside lists the members that are still there.
func (b *TutorialBarrier) inside(ctx context.Context) ([]string, <-chan zk.Event, error) {
	members := b.assembly
	if b.bugs.Has("P5") || b.bugs.Has("P2") { // BUG: P5 one who came too late for the round is there too
		members.round = nil
	}
	list, changed, err := members.left(ctx, true)
	if b.bugs.Has("P2") { // BUG: P2 the name says who it is, not in which round: one who is back has not left
		list = slices.DeleteFunc(list, func(name string) bool { return !b.knows(name) })
	}
	return list, changed, err
}

// knows tells whether a name is one of a process that has taken part in the round.
func (b *TutorialBarrier) knows(name string) bool {
	return slices.ContainsFunc(b.round, func(member string) bool {
		return member[:strings.LastIndexByte(member, '-')] == name[:strings.LastIndexByte(name, '-')]
	})
}
