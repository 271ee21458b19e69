package goclient

import (
	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/digest"
)

// StateHash hashes everything on which depends what the client will do, but for what its goroutines remember: of its own,
// and what the servers have for it, which others change too. tag names the operation behind a [Call.Tag]: tags themselves
// may differ where nothing else does.
func (c *Client) StateHash(v fakezk.View, servers *fakezk.Ensemble, tag func(int64) int64) (own, others uint64) {
	h := hasher{view: v, servers: servers, tag: tag}
	h.Ints(c.session.Load(), int64(c.server.Load()), int64(c.state.Load()), c.timeout, int64(len(c.creds)))
	for _, b := range [...]bool{c.connected, c.events.silent, c.closing.Load(), c.closed.Load(), c.killed.Load()} {
		h.Bool(b)
	}
	if c.connected {
		h.others.Int(int64(v.ConnectionHash(servers, c.conn)))
	}
	for _, list := range [...][]*Call{c.unsent, c.sent, c.waiting} {
		h.Int(int64(len(list)))
		for _, call := range list {
			h.Ints(h.request(call.Request), int64(call.User), tag(call.Tag))
			h.Bool(call.internal)
		}
	}
	h.seen(c.lastZxid)
	for _, w := range c.watches {
		h.watch(w, len(w.ch))
		h.changed(w.path, w.kind, w.tag, c.lastZxid)
	}
	h.events(&c.events)
	h.stalls(&c.stalls, c.expiries)
	return uint64(h.Sum), uint64(h.others)
}

// hasher hashes a client.
type hasher struct {
	digest.Sum
	others  digest.Sum
	view    fakezk.View
	servers *fakezk.Ensemble
	tag     func(int64) int64
}

func (h *hasher) watch(w watch, n int) {
	h.Text(w.path)
	h.Ints(int64(w.kind), int64(w.user), h.tag(w.tag), int64(n))
}

// stalls adds what lies in the channels of stalled users.
func (h *hasher) stalls(s *stalls, expiries int) {
	h.Ints(int64(len(s.users)), int64(len(s.late)), int64(expiries))
	for _, user := range s.users {
		h.Int(int64(user))
	}
	for i := range s.late {
		l := &s.late[i]
		if h.Bool(l.Call == nil); l.Call != nil {
			h.Ints(h.request(l.Call.Request), h.tag(l.Call.Tag))
		}
		h.watch(l.watch, len(l.behind))
		h.Bool(l.ends)
		h.Int(int64(l.Told.Hash()))
		for j := range l.behind {
			h.Int(int64(l.behind[j].Hash()))
		}
	}
}

// seen adds what a client has seen.
func (h *hasher) seen(zxid int64) {
	if !h.view.AlikeIn(h.servers) {
		h.others.Int(zxid)
	}
}

// changed adds what is watched, as servers become alike by what others do; and if they are, whether the watch fires when it
// is armed again. Who else is watching matters to judges, of each.
func (h *hasher) changed(path string, kind watchKind, tag, zxid int64) {
	h.others.Text(path)
	h.others.Ints(int64(kind), h.tag(tag))
	if h.view.AlikeIn(h.servers) {
		data, children := h.view.ChangedSince(h.servers, zxid, path)
		h.others.Bool(data && kind == watchData || children && kind == watchChild)
	}
}

// request hashes a request under way, what it says that the client has seen as StateHash does.
func (h *hasher) request(r fakezk.Request) int64 {
	var apart digest.Sum
	h.seen(r.RelativeZxid)
	for kind, list := range r.WatchLists() {
		for _, path := range *list {
			h.changed(path, watchKind(kind), 0, r.RelativeZxid)
		}
	}
	r.RelativeZxid = 0
	r.AddTo(&apart)
	return int64(apart)
}

func (h *hasher) events(e *events) {
	h.Int(int64(len(e.ch)))
	h.list(e.latest)
	for _, r := range e.now() {
		h.Ints(int64(r.user), int64(len(r.ch)))
		h.list(r.held)
	}
}

func (h *hasher) list(events []zk.Event) {
	h.Int(int64(len(events)))
	for i := range events {
		h.Int(int64(EventHash(events[i])))
	}
}

// Hash hashes what a goroutine is told.
func (t *Told) Hash() uint64 {
	var d digest.Sum
	d.Ints(int64(t.User), t.Knew.Session, int64(t.Knew.Expiries), int64(EventHash(t.Event)))
	if t.Err != nil {
		d.Text(t.Err.Error())
	}
	if t.Call != nil && t.Call.reply != nil {
		t.Call.reply.AddTo(&d, false)
	}
	return uint64(d)
}

// EventHash hashes an event as a recipe sees it.
func EventHash(e zk.Event) uint64 {
	var d digest.Sum
	d.Ints(int64(e.Type), int64(e.State))
	d.Text(e.Path)
	d.Text(e.Server)
	if e.Err != nil {
		d.Text(e.Err.Error())
	}
	return uint64(d)
}
