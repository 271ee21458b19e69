package strike

import "slices"

// Fault is the name of a fault of real connections, clients and servers, as users list it. Where the simulator has a
// fault that means the same, it has the same name there.
type Fault string

// The faults.
const (
	Loss   Fault = "loss"
	Expiry Fault = "expiry"
	Watch  Fault = "watch"
	Hold   Fault = "hold"
	Refuse Fault = "refuse"
	Ignore Fault = "ignore"

	Cancel Fault = "cancel"
	Reap   Fault = "reap"
	Pause  Fault = "pause"
	Crash  Fault = "crash"

	Kill    Fault = "kill"
	Stop    Fault = "stop"
	Lag     Fault = "lag"
	Leader  Fault = "leader"
	Quorum  Fault = "quorum"
	Deposed Fault = "deposed"
)

// Way is a way in which a fault strikes. If it lasts, it lasts for a share of the session timeout from Least to Most.
type Way struct {
	Fault       Fault
	Variant     string
	Least, Most float64

	at moment
	do Effect
	by Where
}

// moment is the frame at which a fault strikes that a request has met.
type moment int

// The moments.
const (
	atRequest moment = iota // the request itself
	atReply                 // the request's reply
	atEvent                 // the connection's next event
	atPing                  // the connection's next ping
)

// Effect is what is to be done, all of it in the order of the bits.
type Effect uint16

// The effects. The machine itself sees to the first three.
const (
	loseAnswer Effect = 1 << iota // the answer to the client's next connect is lost
	RefuseNew                     // new connections of the client are cut
	ignoreNew                     // new connections of the client get no answer, and then are cut

	EndSession // the session is ended at the servers
	HurtServer // the server Target suffers the fault, or all servers
	Freeze     // nothing passes either way on the connection
	Delay      // the frame is late, and all that is behind it
	Silence    // nothing passes on any connection of the client; new ones can be opened

	LoseClient // the client's end is cut, and the server waits for it; the frame is lost
	LoseServer // the server's end is cut, and the client waits for it; the frame is lost
	Cut        // the connection is cut, and the frame is lost
	CutBehind  // the connection is cut behind the frame
)

// Where is where faults are brought about.
type Where uint8

// The places.
const (
	OnProxy    Where = 1 << iota // torture proxy
	OnServe                      // torture serve
	OnLive                       // torture run on real servers, at clients in its own process …
	OnProcess                    // … and at those in other processes
	OnEnsemble                   // torture run, at the servers
)

// Answer is the variant of a loss in which the connection is cut, and once more when a server lets the client connect:
// its answer is lost. At [Hello] only the latter: the session that has begun lives on with nobody until it expires, and
// the client, which does not know of it, begins another.
const Answer = "answer"

const (
	served     = OnProxy | OnServe
	everywhere = OnProxy | OnServe | OnLive
)

// row is all that is to be said of a fault.
type row struct {
	name    Fault
	help    string
	servers int   // that it takes, if it strikes one of them
	ways    []Way // in the order in which a seed draws them
}

// rows have the faults. Their order is a part of what a seed means, and sets list them in it.
var rows = []row{
	{
		name: Loss,
		help: "the connection is cut: before or after a request is carried out; at the next ping (idle); " +
			"at the server's end only (half) or the client's (deaf); in silence; " +
			"or at a request, and again instead of the answer to the client's next connect",
		ways: []Way{
			{Variant: "before", do: Cut, by: everywhere},
			{Variant: "after", at: atReply, do: Cut, by: everywhere},
			{Variant: "later", at: atReply, do: CutBehind, by: OnLive},
			{Variant: "silence", Least: 0.05, Most: 1.5, do: Silence | Cut, by: OnLive},
			{Variant: "idle", at: atPing, do: Cut, by: served},
			{Variant: "half", do: LoseClient, by: OnProxy},
			{Variant: "half", Least: 0.05, Most: 1.5, do: LoseClient, by: OnLive}, // then the other end, too
			{Variant: "deaf", do: LoseServer, by: served},
			{Variant: Answer, do: loseAnswer | Cut, by: everywhere},
		},
	},
	{
		// A client that is unaware is kept out meanwhile. If the answer is lost, too, the session that the client begins
		// next lives on with nobody.
		name: Expiry,
		help: "the session is ended at the servers, before or after a request is carried out; " +
			"or the client is kept away meanwhile (unaware)",
		ways: []Way{
			{Variant: "before", do: EndSession | Cut, by: everywhere},
			{Variant: "after", at: atReply, do: EndSession | Cut, by: everywhere},
			{Variant: Answer, do: loseAnswer | EndSession | Cut, by: OnLive},
			{Variant: "unaware", Least: 0.1, Most: 1.5, do: RefuseNew | EndSession | Cut, by: OnServe | OnLive},
		},
	},
	{
		name: Watch,
		help: "the next event of a watch, and all that is behind it, is held; or it is lost with the connection",
		ways: []Way{
			{Variant: "held", Least: 0.05, Most: 0.8, at: atEvent, do: Delay, by: everywhere},
			{Variant: "lost", at: atEvent, do: Cut, by: everywhere},
		},
	},
	{
		name: Hold,
		help: "nothing passes either way for less than the session timeout (short), " +
			"or for longer (long): then the session expires, and the client cannot know",
		ways: []Way{
			{Variant: "short", Least: 0.05, Most: 0.8, do: Freeze, by: served},
			{Variant: "long", Least: 1.2, Most: 2, do: Freeze, by: served},
		},
	},
	{
		name: Refuse,
		help: "the connection is cut, and for a while so is every new one of the session",
		ways: []Way{{Least: 0.1, Most: 1.5, do: RefuseNew | Cut, by: served}},
	},
	{
		name: Ignore,
		help: "the connection is cut, and for a while new ones of the session get no answer",
		ways: []Way{{Least: 0.1, Most: 1.5, do: ignoreNew | Cut, by: served}},
	},

	// Whoever runs the client does these.
	{name: Cancel, help: "a caller gives up: its context ends", ways: []Way{{by: OnLive}}},
	{name: Reap, help: "an empty parent is removed by somebody else", ways: []Way{{by: OnLive}}},
	{
		name: Pause,
		help: "the process of a client stands still for a while",
		ways: []Way{
			{Least: 0.25, Most: 1.5, by: OnProcess},
			{Variant: "later", Least: 0.25, Most: 1.5, by: OnProcess},
		},
	},
	{
		name: Crash,
		help: "the process of a client dies, and another starts",
		ways: []Way{{by: OnProcess}, {Variant: "later", by: OnProcess}},
	},

	{
		name: Kill, servers: 1,
		help: "a server is killed, and started again",
		ways: []Way{hurt("", 0.1, 1.5), {by: OnEnsemble}},
	},
	{
		name: Stop, servers: 1,
		help: "a server hangs",
		ways: []Way{hurt("short", 0.05, 0.8), hurt("long", 1.2, 2), {by: OnEnsemble}},
	},
	{
		name: Lag, servers: 2,
		help: "a server falls behind, so its clients read old data",
		ways: []Way{hurt("", 0.1, 1.5), {by: OnEnsemble}},
	},
	{name: Leader, help: "any of these is aimed at the leader"},
	{
		name: Quorum,
		help: "the servers have no quorum for a while: none answers, and no session expires",
		ways: []Way{hurt("", 0.1, 1.5)},
	},
	{
		name: Deposed, servers: 3,
		help: "a leader is replaced, and for a while does not know it: it answers reads and syncs with old state",
		ways: []Way{hurt("", 0.1, 1.5)},
	},
}

// hurt is a way in which a server of torture serve suffers a fault.
func hurt(variant string, least, most float64) Way {
	return Way{Variant: variant, Least: least, Most: most, do: HurtServer, by: OnServe}
}

// table has the ways of all faults.
var table = func() (all []Way) {
	for _, r := range rows {
		for _, w := range r.ways {
			w.Fault = r.name
			all = append(all, w)
		}
	}
	return all
}()

// rowOf returns the row of a fault; an empty one if there is none.
func rowOf(f Fault) row {
	for _, r := range rows {
		if r.name == f {
			return r
		}
	}
	return row{}
}

// String returns the name.
func (f Fault) String() string { return string(f) }

// Help says in a line what a fault does.
func (f Fault) Help() string { return rowOf(f).help }

// Strikes reports whether a fault can strike so many servers.
func (f Fault) Strikes(servers int) bool { return servers >= rowOf(f).servers }

// Ways are the ways of the faults that can be brought about at a place.
func Ways(at Where) []Way {
	return slices.DeleteFunc(slices.Clone(table), func(w Way) bool { return w.by&at == 0 })
}

// Faults are the faults that have ways at a place.
func Faults(at Where) (all []Fault) {
	for _, w := range Ways(at) {
		all = append(all, w.Fault)
	}
	return slices.Compact(all)
}

// Find returns one of the ways; false if it is none of them.
func Find(ways []Way, f Fault, variant string) (Way, bool) {
	i := slices.IndexFunc(ways, func(w Way) bool { return w.Fault == f && w.Variant == variant })
	if i < 0 {
		return Way{}, false
	}
	return ways[i], true
}

// FaultsOf lists the faults that can strike so many servers of torture serve.
func FaultsOf(servers int) []Fault {
	return slices.DeleteFunc(Faults(OnServe), func(f Fault) bool { return !f.Strikes(servers) })
}
