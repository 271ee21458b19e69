package world

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

func init() {
	faultTable[Wrap.Index()] = fault{
		name: "wrap",
		help: "counters of 32 bits start just below their ends: sequence numbers, versions of data, ACLs and children",
	}
}

// counterEnd is a counter of a znode that has come to its end.
type counterEnd struct {
	end  fakezk.CounterEnd
	path string
}

// drawCounters draws which counters begin near their ends: the numbers of sequential children, see startCounter; the
// versions of children, which go by twice as fast; or those numbers, and the versions of the data and of the ACLs: of the
// znodes that are there at first, and of new ones, which begin with 0 on every server, when they are first set.
func drawCounters(w *World) {
	which, before := w.choose(3, LabelCounters), int32(w.choose(4, LabelFirstNumber))
	w.firstNumber = math.MaxInt32 - before
	switch which {
	case 1:
		w.versions = math.MaxInt32 - before
	case 2:
		w.firstNumber = 1<<30 - before
	}
}

// startCounters lets the sequence counters of the znodes that are there at first begin near their end: much may have
// been created below them before.
func startCounters(w *World) {
	for _, path := range w.counters {
		w.servers.SetSequence(path, w.firstNumber)
	}
	w.counters = w.counters[:0]
}

// startCounter lets the sequence counter of a znode that was made during the episode begin near its end when the first
// number is taken from it: a recipe that makes its directory once, and numbers what is below, comes there in the end.
// One of which no number is asked is as new as it is. So does a version when it is set whatever it is: many may have set it.
func startCounter(w *World, r *fakezk.Request) {
	for i := range r.Ops {
		startCounter(w, &r.Ops[i])
	}
	if w.versions != 0 && r.Op == wire.OpSetData && r.Version == -1 {
		if n, there := w.servers.Node(r.Path); there && n.Stat.Version == 0 && n.Stat.EphemeralOwner == 0 {
			r.Since = w.versions
		}
	}
	if len(w.counters) == 0 || reads(r.Op) || r.Flags&zk.FlagSequence == 0 {
		return
	}
	parent := r.Path[:max(strings.LastIndexByte(r.Path, '/'), 0)]
	if i := slices.Index(w.counters, parent); i >= 0 {
		w.counters = slices.Delete(w.counters, i, i+1)
		w.servers.SetSequence(parent, w.firstNumber)
	}
}

var endWords = map[fakezk.CounterEnd]string{
	fakezk.EndSticks:   "the number of sequential children stays at 2147483647, and pzxid: setWatches misses what is created below",
	fakezk.EndNumbers:  "the number of sequential children goes on from 2147483647 to -2147483648",
	fakezk.EndVersion:  "the version goes on from 2147483647 to -2147483648",
	fakezk.EndAversion: "the version of the ACL goes on from 2147483647 to -2147483648",
	fakezk.EndCversion: "the version of the children goes on from 2147483647 to -2147483648",
}

// counterEnds notes that a change has brought a counter to its end, once for each.
func counterEnds(w *World, c fakezk.Change) {
	end := counterEnd{c.End, c.EndsWith}
	if slices.Contains(w.ends, end) {
		return
	}
	w.ends = append(w.ends, end)
	w.fold(uint64(end.end))
	w.foldString(end.path)
	w.strikes(Wrap.Index(), 1)
	w.noteFault(Wrap, -1, end.path, endWords[end.end]).End = end.end
}

// nameTaken notes that a sequential create fails because the number has stayed.
func nameTaken(w *World, r *fakezk.Request, reply *fakezk.Response) {
	if w.trace == nil || r.Op != wire.OpCreate || r.Flags&zk.FlagSequence == 0 || reply.Err != wire.CodeNodeExists {
		return
	}
	w.noteFault(Wrap, -1, r.Path, fmt.Sprintf("the number %d is given out again, and the name is taken", math.MaxInt32))
}
