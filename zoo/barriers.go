package zoo

import (
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

// The animals that are barriers.
var barrierAnimals = []Animal{
	tutorialBarrier("P1", "members are counted: one that is fast has gone before a slow one counts", "lost-wakeup", "none", fullRounds).with(2),
	tutorialBarrier("P2", "a member has one name for all rounds: one that is back is taken for one that has not left", "lost-wakeup", "none", fullRounds).with(2),
	tutorialBarrier("P3", "a member is named after its host: the second one there cannot enter", "unexpected-error", "none", fullRounds).with(2),
	tutorialBarrier("P5", "who comes too late for a round holds up those who leave it", "lost-wakeup", "none", anyRounds),
	syncPrimitive("SP1", "the znode to be deleted is named without its number: leave never waits", "early-leave", "none", fullRounds).with(2),
	syncPrimitive("SP2", "znodes of an earlier round stay and are counted in the next", "early-enter", "none", fullRounds, "SP1").with(2),
	syncPrimitive("SP3", "a create whose reply was lost is repeated under another number: one member counts twice", "early-enter", "loss", sparseRounds).with(2),
	syncPrimitive("SP8", "one monitor for all objects and a single notify: the wrong one wakes", "lost-wakeup", "none", apartRounds).with(2),
	syncPrimitive("SP10", "the program goes on although enter has failed", "early-enter", "loss", sparseRounds).with(2),
	syncPrimitive("SP11", "the handle of an expired session is kept: each call fails for ever", "lost-wakeup", "expiry", fullRounds).with(2),
	syncPrimitive("SP12", "a znode that somebody else has put there is counted", "early-enter", "none", litteredRounds).with(2),
	syncPrimitive("SP13", "one default watcher for all: who waits in another object is not woken", "lost-wakeup", "none", fullRounds).with(2),
	curatorBarrier("B3", "a znode \"ready\" that a crash has left lets the next round in", "early-enter", "crash", fullRounds),
	curatorBarrier("B4", "who gives up leaves its znode: a later member is let in without it", "early-enter", "cancel", sparseRounds),
	kazooBarrier("B12", "a znode \"ready\" that a crash has left is counted as a member", "early-enter", "crash", fullRounds),
	kazooBarrier("B13", "enter returns normally although it has failed", "early-enter", "expiry", sparseRounds),
	kazooBarrier("B15", "that the client has dropped the watch is ignored", "lost-wakeup", "loss", fullRounds),
	doubleBarrierAnimal("B17", "nobody deletes the znode \"ready\": the next round does not wait", "ZooKeeper Recipes and Solutions, Double Barriers",
		"early-enter", "none", fullRounds, func(bugs published.Bugs) workload.Option {
			return member(func(c recipes.Conn, path string) workload.Rendezvous {
				return published.NewOfficialDoubleBarrier(c, path, parties, bugs)
			})
		}).with(2),
}

var absentBarriers = []Absent{
	{"SP9", "the monitor is missing only between two assignments of a constructor, with no request and so no other thread's turn between them; the event lost there tells of the first connection, and nobody waits for that"},
}

func tutorialBarrier(id, title, property, needs string, variant roundsVariant) Animal {
	return doubleBarrierAnimal(id, title, "the ZooKeeper tutorial, Barriers", property, needs, variant, func(bugs published.Bugs) workload.Option {
		return member(func(c recipes.Conn, path string) workload.Rendezvous {
			return published.NewTutorialBarrier(c, path, parties, bugs)
		})
	})
}

func syncPrimitive(id, title, property, needs string, variant roundsVariant, with ...string) Animal {
	return doubleBarrierAnimal(id, title, "the ZooKeeper tutorial's listing as republished, SyncPrimitive.Barrier", property, needs, variant, shared, with...)
}

func curatorBarrier(id, title, property, needs string, variant roundsVariant) Animal {
	return doubleBarrierAnimal(id, title, "Apache Curator 5.4, DistributedDoubleBarrier", property, needs, variant, func(bugs published.Bugs) workload.Option {
		return member(func(c recipes.Conn, path string) workload.Rendezvous {
			return published.NewCuratorDoubleBarrier(c, path, parties, bugs)
		})
	}).with(2)
}

func kazooBarrier(id, title, property, needs string, variant roundsVariant) Animal {
	variant.opts = append(slices.Clone(variant.opts), workload.ForClient(fakezk.SemanticsKazoo))
	return doubleBarrierAnimal(id, title, "kazoo 2.8, kazoo/recipe/barrier.py, DoubleBarrier", property, needs, variant, func(bugs published.Bugs) workload.Option {
		return member(func(c recipes.Conn, path string) workload.Rendezvous {
			return published.NewKazooDoubleBarrier(c, path, parties, bugs)
		})
	}).with(2)
}

// doubleBarrierAnimal is a double barrier for two. members is called once an episode.
func doubleBarrierAnimal(id, title, source, property, needs string, variant roundsVariant, members func(published.Bugs) workload.Option, with ...string) Animal {
	return pair(Animal{ID: id, Title: title, Source: source, Property: property, Needs: needs}, func(bugs published.Bugs) *workload.Workload {
		recipe := fmt.Sprintf("%s, %s, with %s", source, variant.name, bugs)
		return workload.DoubleBarrier(parties, nil, as(recipe, append(slices.Clone(variant.opts), members(bugs))...)...)
	}, with...)
}

// parties is how many meet.
const parties = 2

// roundsVariant is a variant of the workload: its name, and what makes it.
type roundsVariant struct {
	name string
	opts []workload.Option
}

var (
	anyRounds      = roundsVariant{"any rounds", nil}
	fullRounds     = roundsVariant{"full rounds", []workload.Option{workload.FullRounds()}}
	sparseRounds   = roundsVariant{"sparse rounds", []workload.Option{workload.SparseRounds()}}
	litteredRounds = roundsVariant{"littered rounds", []workload.Option{workload.Beside("/foreign")}} // which somebody else has put there
	apartRounds    = roundsVariant{"rounds apart", []workload.Option{workload.RoundsApart()}}
)

// member makes members of a double barrier that share nothing.
func member(new func(c recipes.Conn, path string) workload.Rendezvous) workload.Option {
	return workload.Statics(nil, func(_ *struct{}, c recipes.Conn, path string) workload.Rendezvous { return new(c, path) })
}

// shared makes members of the tutorial's class: those of one process share its static fields.
func shared(bugs published.Bugs) workload.Option {
	return workload.Statics(published.NewSyncPrimitive, func(class *published.SyncPrimitive, c recipes.Conn, path string) workload.Rendezvous {
		return published.NewSyncPrimitiveBarrier(class, c, path, parties, bugs)
	})
}
