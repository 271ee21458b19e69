package world

func init() {
	faultTable[Quorum.Index()] = fault{
		name: "quorum",
		help: "there is no majority for a while: connections close, and nothing is written or expires; then session timeouts start anew",
		find: findQuorum, strike: strikeQuorum,
		unreal: "the servers lose their majority, and when a real leader gives up is not the trace's to say; " +
			"--faults kill,stop has such days",
	}
}

// outage is a time without a majority.
type outage struct {
	now   bool
	until int64 // ms since the start on the servers' clock
}

// outages are the least lengths of outages in milliseconds: shorter than the session timeout, and longer.
var outages = [...]int64{20, sessionTimeout + 2*tickTime}

func findQuorum(w *World, add func(Target)) {
	if !w.outage.now {
		add(Target{client: -1, variants: len(outages)})
	}
}

func strikeQuorum(w *World, _ Target, variant int) {
	notice(w)
	w.noteFault(Quorum, -1, "", "there is no majority: all servers close their connections, and no session ends")
	w.servers.LoseQuorum()
	w.outage = outage{true, w.elapsed + w.offset + outages[variant]}
}

// regain lets time pass until the outage is over, or a client wakes before.
func regain(w *World) {
	if rest := w.outage.until - w.elapsed - w.offset; rest > 0 {
		letPass(w, rest)
	}
	if w.elapsed+w.offset >= w.outage.until {
		endOutage(w)
	}
}

func endOutage(w *World) {
	if !w.outage.now {
		return
	}
	w.outage.now = false
	w.servers.RegainQuorum(w.now())
	followAll(w)
	w.noteHealed(Quorum, -1, "there is a majority again, and each session has its whole timeout")
}

// collectElections lists how servers recover. When nothing else can happen a deposed leader does not notice at once:
// time passes first.
func collectElections(w *World) {
	switch {
	case w.outage.now:
		w.actions = append(w.actions, Action{Kind: ActRegain})
	case w.servers.Deposed() >= 0 && w.brief && len(w.actions) > 0:
		w.actions = append(w.actions, Action{Kind: ActNotice})
	}
}

// AwaitingQuorum are the clients of which requests wait for a connection, and could fail now.
func (w *World) AwaitingQuorum() (all uint64) {
	for _, a := range w.actions {
		if a.Kind == ActReconnect && w.procs[a.Client].clients[a.user].Queued() != nil {
			all |= 1 << a.Client
		}
	}
	return all
}

// LongOutage reports whether the present outage goes on for longer than the shorter one takes.
func (w *World) LongOutage() bool { return w.outage.until-w.elapsed-w.offset > outages[0] }
