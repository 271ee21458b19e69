package fakezk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// Transaction is an entry of the log, in a form in which it can be kept: see [Ensemble.OnTransaction] and
// [Ensemble.Replay]. It has no edits if the request failed.
type Transaction struct {
	Zxid    int64  `json:"zxid"`
	Time    int64  `json:"time"` // ms since 1970
	Session int64  `json:"session"`
	Edits   []Edit `json:"edits,omitempty"`
}

// Edit is one elementary change of a transaction.
type Edit struct {
	Op      wire.Op  `json:"op"`
	Path    string   `json:"path,omitempty"`
	Data    []byte   `json:"data"`
	ACL     []zk.ACL `json:"acl,omitempty"`
	Owner   int64    `json:"owner,omitempty"`      // create: ephemeralOwner; sessions: the session; a counter: its value
	Timeout int64    `json:"timeout_ms,omitempty"` // of a session that begins
}

// recordOf returns a transaction as it is kept.
func recordOf(t *transaction, all sessions) Transaction {
	kept := Transaction{Zxid: t.zxid, Time: t.time, Session: t.session}
	for _, x := range t.edits {
		edit := Edit{Op: x.op, Path: x.path, Data: x.data, ACL: x.acl, Owner: x.owner}
		if s := all.byID(x.owner); x.op == wire.OpCreateSession && s != nil {
			edit.Timeout = s.timeout
		}
		kept.Edits = append(kept.Edits, edit)
	}
	return kept
}

// errLog is returned by Replay and Load for what does not follow from what is there.
var errLog = errors.New("fakezk: it does not fit")

// Replay carries out a transaction of the log of an ensemble that was as this one is. The error is errLog, and nothing
// has changed, if it cannot be.
func (e *Ensemble) Replay(t Transaction) error {
	epoch := t.Zxid >> 32
	if begins := epoch > e.Zxid()>>32 && t.Zxid == epoch<<32+1; t.Zxid != e.Zxid()+1 && !begins {
		return fmt.Errorf("%w: transaction 0x%x after 0x%x", errLog, t.Zxid, e.Zxid())
	}
	defer clear(e.proposer.pending)
	edits := make([]edit, len(t.Edits))
	for i, x := range t.Edits {
		edits[i] = edit{op: x.Op, path: x.Path, data: x.Data, acl: shared(x.ACL), owner: x.Owner}
		err := e.proposer.fits(&edits[i])
		if x.Op == wire.OpCreateSession && e.Alive(x.Owner) {
			err = fmt.Errorf("session 0x%x is there already", uint64(x.Owner))
		}
		if err != nil {
			return fmt.Errorf("%w: transaction 0x%x, edit %d: %w", errLog, t.Zxid, i+1, err)
		}
		e.proposer.foresee(&edits[i])
	}
	for _, x := range t.Edits {
		switch x.Op {
		case wire.OpCreateSession:
			e.keepSession(x.Owner, x.Timeout)
		case wire.OpCloseSession:
			if s := e.sessions.byID(x.Owner); s != nil {
				e.sessions.end(s)
			}
		case wire.OpReconfig:
			e.proposer.members = membershipIn(x.Data)
		}
	}
	e.cluster.epoch = epoch
	e.commit(transaction{time: t.Time, session: t.Session, edits: edits}, nil)
	return nil
}

// fits reports why an edit cannot be applied after those that are pending.
func (p *proposer) fits(x *edit) error {
	there := p.look(x.path).exists
	switch x.op {
	case wire.OpCreate:
		if there || x.path == "" || !p.look(parentOf(x.path)).exists {
			return fmt.Errorf("%q cannot be created", x.path)
		}
	case wire.OpDelete:
		if !there || p.look(x.path).children > 0 || x.path == "/" {
			return fmt.Errorf("%q cannot be deleted", x.path)
		}
	case wire.OpSetData, wire.OpSetACL, wire.OpReconfig, opSetSequence, opSetVersions:
		if !there {
			return fmt.Errorf("%q is not there", x.path)
		}
	case wire.OpCheck, wire.OpCreateSession, wire.OpCloseSession:
	default:
		return fmt.Errorf("there is no operation %d in a log", x.op)
	}
	return nil
}

// keepSession adds a session of before, which belongs to the replica that opened it until it connects again.
func (e *Ensemble) keepSession(id, timeout int64) {
	s := &session{id: id, timeout: timeout}
	if opener := e.cluster.replica(int(id>>56) - 1); opener != nil {
		s.owner = opener.index
		opener.sessions = max(opener.sessions, id&sessionMask-e.cfg.SessionBase)
	}
	e.sessions.add(s)
}

// savedState begins what Save writes; a savedNode follows for each znode, a parent before its children.
type savedState struct {
	Zxid     int64          `json:"zxid"`
	Sessions []savedSession `json:"sessions"`
	Nodes    int            `json:"nodes"`
}

type savedSession struct {
	ID      int64 `json:"id"`
	Timeout int64 `json:"timeout_ms"`
}

type savedNode struct {
	Path     string   `json:"path"`
	Data     []byte   `json:"data"`
	ACL      []zk.ACL `json:"acl"`
	Czxid    int64    `json:"czxid"`
	Mzxid    int64    `json:"mzxid"`
	Pzxid    int64    `json:"pzxid"`
	Ctime    int64    `json:"ctime"`
	Mtime    int64    `json:"mtime"`
	Version  int32    `json:"version"`
	Created  int32    `json:"created"` // children ever created, which names the next sequential one
	Aversion int32    `json:"aversion"`
	Owner    int64    `json:"owner,omitempty"`
}

// Save writes what the leader has: znodes and sessions, a line of JSON each. Connections, watches and what replicas
// have not applied are left out, as they do not survive the end of a server.
func (e *Ensemble) Save(w io.Writer) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	state := savedState{Zxid: e.Zxid(), Nodes: len(e.cluster.leader().nodes) - 1}
	for _, s := range e.sessions {
		state.Sessions = append(state.Sessions, savedSession{s.id, s.timeout})
	}
	if err := encoder.Encode(state); err != nil {
		return err
	}
	if err := e.cluster.leader().root.save(encoder); err != nil {
		return err
	}
	return out.Flush()
}

func (n *node) save(out *json.Encoder) error {
	err := out.Encode(savedNode{
		Path: n.path, Data: n.data, ACL: n.acl, Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Created: n.created, Aversion: n.aversion, Owner: n.owner,
	})
	for child := range n.children.all() {
		if err == nil {
			err = child.save(out)
		}
	}
	return err
}

// Load makes the ensemble, which has to be as New returned it, what Save has written. All replicas have it. Call
// RegainQuorum after it and the last Replay: that gives the sessions their whole timeouts.
func (e *Ensemble) Load(now int64, r io.Reader) error {
	in := json.NewDecoder(r)
	in.DisallowUnknownFields()
	var state savedState
	if err := in.Decode(&state); err != nil {
		return fmt.Errorf("%w: %w", errLog, err)
	}
	for i := range state.Nodes {
		var n savedNode
		if err := in.Decode(&n); err != nil {
			return fmt.Errorf("%w: znode %d: %w", errLog, i+1, err)
		}
		for _, replica := range e.cluster.replicas {
			if err := replica.load(&n); err != nil {
				return err
			}
		}
	}
	for _, replica := range e.cluster.replicas {
		replica.zxid = state.Zxid
	}
	e.cluster.epoch = state.Zxid >> 32
	for _, s := range state.Sessions {
		e.keepSession(s.ID, s.Timeout)
	}
	if len(e.cluster.leader().owned[0]) > 0 {
		e.reaper.later(now, e.cfg.ReapInterval)
	}
	e.loadMembers()
	return nil
}

// loadMembers takes the members from /zookeeper/config. The configured ones replace none, as of a server that had none.
func (e *Ensemble) loadMembers() {
	if text := e.cluster.leader().nodes[configPath].data; len(text) > 0 {
		e.proposer.members = membershipIn(text)
		return
	}
	for _, replica := range e.cluster.replicas {
		replica.configure(e.proposer.members.text(), 0, 0)
	}
}

func (r *replica) load(saved *savedNode) error {
	n := r.nodes[saved.Path]
	if n == nil {
		if saved.Path == "" || saved.Path[0] != '/' || r.nodes[parentOf(saved.Path)] == nil {
			return fmt.Errorf("%w: znode %q comes before its parent", errLog, saved.Path)
		}
		n = r.link(saved.Path)
	}
	n.data, n.acl = saved.Data, shared(saved.ACL)
	n.czxid, n.mzxid, n.pzxid, n.ctime, n.mtime = saved.Czxid, saved.Mzxid, saved.Pzxid, saved.Ctime, saved.Mtime
	n.version, n.created, n.aversion = saved.Version, saved.Created, saved.Aversion
	r.own(n, saved.Owner)
	return nil
}

// shared returns the list that all nodes share that everybody may use, instead of one that says the same.
func shared(acl []zk.ACL) []zk.ACL {
	if slices.Equal(acl, openACL) {
		return openACL
	}
	return acl
}
