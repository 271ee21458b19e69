package world

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/line"
)

// owner is whose code a goroutine runs: that of an incarnation of a process, or the world's own.
type owner struct {
	world   *World
	process *process // nil: the world's own code
	user    *User    // in one life of its process; nil: the world's own code, and that of a connection that users share
	door    *door    // nil in process, and of the world's own code
}

// owners are those of the worlds that run, by the numbers that the runtime knows.
var owners struct {
	sync.Mutex
	last uint64
	all  map[uint64]owner
}

// outside says why the world cannot lead the code to its servers at the addresses that it expects, "" if it can.
func (t *Terms) outside() string {
	switch {
	case len(t.At) == 0 || bubble.Exact && t.Door == ByDialer:
		return ""
	case t.Door != ByDialer:
		return "workload.At is for code that connects by itself: let it take workload.Servers (workload.Of)"
	}
	return fmt.Sprintf("the code connects by itself to %s, which leads to the simulated servers in exact mode only: run it by "+
		"torture test, or torture run --exact; or pass the option on that the simulated world gives: "+
		"zk.Connect(s.Addresses, timeout, s.Option), s being the workload.Servers", strings.Join(t.At, ", "))
}

// number gives an owner a number, 0 but in exact mode.
func (o owner) number() uint64 {
	if !bubble.Exact {
		return 0
	}
	owners.Lock()
	defer owners.Unlock()
	if owners.all == nil {
		owners.all = map[uint64]owner{}
	}
	owners.last++
	owners.all[owners.last] = o
	return owners.last
}

// reap ends the goroutines of processes, and reports whether it can, which is in exact mode. They run nothing any more, and
// the world has nothing to close for them.
func reap(w *World, whose func(owner) bool) bool {
	if w.tape == nil {
		return false
	}
	owners.Lock()
	defer owners.Unlock()
	for number, o := range owners.all {
		if o.world != w || o.process == nil || !whose(o) {
			continue
		}
		if bubble.Reap(number); o.door != nil {
			o.door.own = nil
		}
	}
	return true
}

// disown forgets the owners of a world that has ended.
func disown(w *World) {
	owners.Lock()
	defer owners.Unlock()
	for number, o := range owners.all {
		if o.world == w {
			delete(owners.all, number)
		}
	}
}

func ownerNumbered(number uint64) (o owner, known bool) {
	owners.Lock()
	defer owners.Unlock()
	o, known = owners.all[number]
	return o, known
}

// ownerOf finds the owner of a goroutine that asks for the network. One of a dead process stays until the episode is over.
func ownerOf(number uint64) (owner, error) {
	o, known := ownerNumbered(number)
	if !known {
		return o, errors.New("zktorture: the simulated world of this goroutine has ended")
	}
	if o.door != nil && o.door.Dead() {
		o.door.Stay()
	}
	return o, nil
}

// place is an address at which code that connects by itself reaches the world's servers.
type place struct {
	address, host string
	tcp           *net.TCPAddr // that it is looked up as
}

// places are those of a workload.
func (t *Terms) places() (all []place) {
	if !bubble.Exact || t.Door != ByDialer {
		return nil
	}
	for i, address := range slices.Concat(line.Addresses, line.Literals, t.At) {
		host, port, _ := net.SplitHostPort(address)
		p := place{address, host, &net.TCPAddr{IP: net.ParseIP(host)}}
		p.tcp.Port, _ = strconv.Atoi(port)
		if same := slices.IndexFunc(all, func(q place) bool { return q.host == host }); same >= 0 {
			p.tcp.IP = all[same].tcp.IP
		} else if p.tcp.IP == nil {
			p.tcp.IP = line.IP(i)
		}
		all = append(all, p)
	}
	return all
}

// places are those that the owner's code reaches.
func (o owner) places() []place {
	if o.door == nil {
		return nil
	}
	return o.world.places
}

// barred is a call of package net that would have left the world.
type barred struct {
	call, at string
	instead  string // what to do, "" if there is nothing
}

func (b *barred) Error() string { return "zktorture: " + onlyServers + b.instead }

// told says what was barred, and where.
func (b *barred) told() string {
	return fmt.Sprintf("%s is barred, at %s: %s%s", b.call, b.at, onlyServers, b.instead)
}

const onlyServers = "the simulated world has its ZooKeeper servers and no other network"

// barredMax is how many calls are noted at most in one world.
const barredMax = 20

// bar notes a call that would leave the world, and returns its error.
func (o owner) bar(call, instead string) error {
	b := &barred{call, bubble.Caller(), instead}
	w := o.world
	w.enter()
	defer w.mu.Unlock()
	if len(w.barred) < barredMax {
		w.barred = append(w.barred, b)
	}
	return b
}

// instead says what code does that wants to reach a server.
func (o owner) instead() string {
	if o.world.terms.Door == ByDialer {
		return ": connect to the Addresses of workload.Servers, or declare others by workload.At"
	}
	return ": this workload's code is given its connection, and code that connects by itself takes workload.Servers"
}
