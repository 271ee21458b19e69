package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/internal/bound"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// hasty takes its place in a queue, and itself for the first. Others may wait for it, as it may leave its place.
type hasty struct {
	conn      recipes.Conn
	path, own string
	lost      chan struct{}
}

func (h *hasty) Lock(context.Context) (err error) {
	h.conn.Create(h.path, nil, 0, zk.WorldACL(zk.PermAll))
	h.lost = make(chan struct{})
	h.own, err = h.conn.Create(h.path+"/x-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	return err
}

func (h *hasty) Unlock(context.Context) error {
	if err := h.conn.Delete(h.own, -1); err == zk.ErrNoNode {
		return recipes.ErrLost
	} else if err != nil {
		close(h.lost)
	}
	return nil
}

func (h *hasty) Lost() <-chan struct{}              { return h.lost }
func (h *hasty) Acquire(ctx context.Context) error  { return h.Lock(ctx) }
func (h *hasty) Release(ctx context.Context) error  { return h.Unlock(ctx) }
func (h *hasty) RLock(ctx context.Context) error    { return h.Lock(ctx) }
func (h *hasty) RUnlock(ctx context.Context) error  { return h.Unlock(ctx) }
func (h *hasty) Campaign(ctx context.Context) error { return h.Lock(ctx) }
func (h *hasty) Resign(ctx context.Context) error   { return h.Unlock(ctx) }

// Ends of which a search judges one are judged alike: each is run, and judged, by itself.
func TestWhatIsJudgedOnceIsJudgedAlike(t *testing.T) {
	testkit.ManyWorlds(t)
	made := func(c recipes.Conn, path string) *hasty { return &hasty{conn: c, path: path} }
	kinds := map[string]*workload.Workload{
		"lock":      workload.Lock(func(c recipes.Conn, path string) workload.Locker { return made(c, path) }),
		"rwlock":    workload.RWLock(func(c recipes.Conn, path string) workload.RWLocker { return made(c, path) }),
		"semaphore": workload.Semaphore(2, func(c recipes.Conn, path string) workload.Permitter { return made(c, path) }),
		"election":  workload.Election(func(c recipes.Conn, path string) workload.Candidate { return made(c, path) }),
	}
	usual := bound.New
	defer func() { bound.New = usual }()
	for kind, w := range kinds {
		ends, alike, broken := 0, 0, 0
		for _, x := range []struct {
			clients, ops int
			faults       world.Faults
		}{{3, 1, world.NoFaults}, {2, 2, world.Loss}, {2, 2, world.Expiry}, {2, 2, world.Stall}} {
			verdicts, whole := map[uint64]string{}, map[uint64]uint64{}
			bound.New = func(of *bound.Campaign) bound.Search {
				s := usual(of).(*search)
				counts := of.Counts
				of.Counts = func(o *world.Run) bool {
					if o.End == nil { // it is run again
						return counts(o)
					}
					reduced, verdict, key := s.ofJudge(o.End), verdictOf(o), s.keyOf(&s.walk.now)
					if before, is := verdicts[reduced]; is && before != verdict {
						t.Errorf("%s, %+v: %q and %q", kind, x, before, verdict)
					} else if is && whole[reduced] != key {
						alike++
					}
					verdicts[reduced], whole[reduced] = verdict, key
					if ends++; verdict != "" {
						broken++
					}
					return counts(o)
				}
				return s
			}
			cfg := sim.Config{Strategy: sim.Exhaustive, Clients: x.clients, Ops: x.ops, Faults: x.faults, NoFaultsAtAll: true, AtMost: 1, Plain: true,
				Whole: true, Episodes: testkit.Sized(600, 5000), Without: bound.ReduceReturns | bound.ReduceOwn | bound.ReduceEnds}
			if _, err := sim.Run(t.Context(), w, cfg); err != nil {
				t.Fatal(err)
			}
		}
		if alike < 100 || broken < 100 || ends-broken < 100 {
			t.Errorf("%s: of %d ends, of which %d are broken, %d are judged like others", kind, ends, broken, alike)
		}
	}
}

// ofJudge is what a judge sees of an end, as a search with all reductions has it.
func (s *search) ofJudge(end *world.End) uint64 {
	without := s.Without
	defer func() { s.Without = without }()
	past := func() history {
		h := s.root.history
		for _, e := range s.walk.path {
			h = s.after(h, s.memory.effect(e).moments)
		}
		return h
	}
	if past() != s.walk.now.history {
		panic("the path is not the history")
	}
	s.Without = 0
	return s.ended(past(), end)
}

// verdictOf are the properties that are broken.
func verdictOf(o *world.Run) string {
	var all []string
	for _, v := range o.Violations {
		all = append(all, v.Property)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ") + fmt.Sprint(o.Unknown)
}
