package zoo

import (
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

// barrierBreeds are double barriers, by the rounds of their workload.
var barrierBreeds = breeds{
	{"P1 P2 P3", tutorialBarrier.used(", full rounds, with ", workload.Dialect{Full: true}.Option())},
	{"P5", tutorialBarrier.used(", any rounds, with ")},
	{"SP1 SP2 SP11 SP13", syncPrimitive.used(", full rounds, with ", workload.Dialect{Full: true}.Option())},
	{"SP3 SP10", syncPrimitive.used(", sparse rounds, with ", workload.Dialect{Sparse: true}.Option())},
	{"SP8", syncPrimitive.used(", rounds apart, with ", workload.Dialect{Apart: true}.Option())},
	{"SP12", syncPrimitive.used(", littered rounds, with ", workload.Beside("/foreign"))}, // by another user
	{"B3", curatorBarrier.used(", full rounds, with ", workload.Dialect{Full: true}.Option())},
	{"B4", curatorBarrier.used(", sparse rounds, with ", workload.Dialect{Sparse: true}.Option())},
	{"B12 B15", kazooBarrier.used(", full rounds, with ", workload.Dialect{Full: true}.Option())},
	{"B13", kazooBarrier.used(", sparse rounds, with ", workload.Dialect{Sparse: true}.Option())},
	{"B17", own(meeting, "ZooKeeper Recipes and Solutions, Double Barriers, full rounds, with ",
		forTwo(published.NewOfficialDoubleBarrier), workload.Dialect{Full: true}.Option())},
}

var (
	tutorialBarrier = own(meeting, "the ZooKeeper tutorial, Barriers", forTwo(published.NewTutorialBarrier))
	syncPrimitive   = class(meeting, "the ZooKeeper tutorial's listing as republished, SyncPrimitive.Barrier",
		published.NewSyncPrimitive, newSyncPrimitiveBarrier)
	curatorBarrier = own(meeting, "Apache Curator 5.4, DistributedDoubleBarrier",
		forTwo(published.NewCuratorDoubleBarrier))
	kazooBarrier = own(meeting, "kazoo 2.8, kazoo/recipe/barrier.py, DoubleBarrier",
		forTwo(published.NewKazooDoubleBarrier)).by(goclient.SemanticsKazoo)
)

// parties is how many meet.
const parties = 2

// meeting is the workload of a double barrier for two.
func meeting(new func(recipes.Conn, string) workload.Rendezvous, opts ...workload.Option) *workload.Workload {
	return workload.DoubleBarrier(parties, new, opts...)
}

// forTwo is the constructor of a barrier for two.
func forTwo[R any](new func(recipes.Conn, string, int, published.Bugs) R) constructor[R] {
	return func(c recipes.Conn, path string, bugs published.Bugs) R { return new(c, path, parties, bugs) }
}

func newSyncPrimitiveBarrier(class *published.SyncPrimitive, c recipes.Conn, path string,
	bugs published.Bugs) *published.SyncPrimitiveBarrier {
	return published.NewSyncPrimitiveBarrier(class, c, path, parties, bugs)
}
