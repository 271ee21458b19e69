package postmortem

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// znode is an ephemeral one that is there.
type znode struct {
	path    string
	session int64
	made    moment
	order   int64 // its sequence number
	place   *place
	gone    bool
}

// moment is where in the log something happened, and when by the leader's clock.
type moment struct{ zxid, time int64 }

func (m moment) String() string {
	if m.time == 0 {
		return fmt.Sprintf("%#x", m.zxid)
	}
	return fmt.Sprintf("%#x (%s)", m.zxid, time.UnixMilli(m.time).UTC().Format("2006-01-02 15:04:05.000Z"))
}

// place is a folder whose ephemeral children have sequence numbers, or an ephemeral znode by itself. Who has the first
// child, or the znode, holds what the place stands for.
type place struct {
	path     string
	children []*znode // by sequence number
	reigns   int      // how often another child became the first
	lock     *lock    // nil if nobody has said that it is one
}

func (p *place) first() *znode {
	if len(p.children) == 0 {
		return nil
	}
	return p.children[0]
}

// servers is what a log has made of ephemeral znodes and of sessions so far. Other znodes are not kept, so its memory
// does not grow with the log.
type servers struct {
	znodes   map[string]*znode
	sessions map[int64]map[*znode]bool // those that are alive, with what they own
	places   map[string]*place
	judge    *judge
	begun    bool // with a snapshot, which lacks znodes that were deleted while it was written
}

func newServers(j *judge) *servers {
	return &servers{znodes: map[string]*znode{}, sessions: map[int64]map[*znode]bool{}, places: map[string]*place{}, judge: j}
}

// apply does what a transaction did.
func (s *servers) apply(t *transaction) error {
	body := t.body
	s.do(t.op, t.session, &body)
	if body.bad {
		return fmt.Errorf("the transaction %#x of type %d ends too soon: the file is damaged, or of a version that is not known",
			t.zxid, t.op)
	}
	return nil
}

func (s *servers) do(op wire.Op, session int64, body *record) {
	switch op {
	case wire.OpCreate, wire.OpCreate2:
		name := body.bytes()
		body.bytes()
		body.acl()
		s.written(name, session)
		if body.bool() {
			s.create(string(name), session, s.judge.now)
		}
	case wire.OpCreateContainer, wire.OpCreateTTL, wire.OpSetData:
		s.written(body.bytes(), session)
	case wire.OpDelete, opDeleteContainer:
		name := body.bytes()
		s.written(name, session)
		if z := s.znodes[string(name)]; z != nil {
			s.remove(z)
		} else if s.begun {
			s.unknown(name)
		}
	case wire.OpCreateSession:
		s.open(session)
	case wire.OpCloseSession:
		for n := s.listed(body); n > 0 && !body.bad; n-- {
			if name := body.bytes(); s.begun && s.znodes[string(name)] == nil {
				s.unknown(name)
			}
		}
		s.close(session)
	case wire.OpMulti:
		for n := body.int(); n > 0 && !body.bad; n-- {
			op := wire.Op(body.int())
			part := record{rest: body.bytes()}
			s.do(op, session, &part)
			body.bad = body.bad || part.bad
		}
	}
}

// listed is how many paths follow in the end of a session: none before ZooKeeper 3.6, or if it is told to leave them out.
// Then only a digest of 12 bytes may follow, and it is not known what a snapshot lacks.
func (s *servers) listed(body *record) int32 {
	if n := len(body.rest); n > 0 && n != 12 {
		return body.int()
	}
	if s.begun {
		for _, l := range s.judge.locks {
			l.wrong()
		}
	}
	return 0
}

// unknown says that a znode was deleted that nobody knew of. If it was of a lock, who had the first was not known, either.
func (s *servers) unknown(name []byte) {
	folder, _, ok := sequence(string(name))
	if !ok {
		folder = string(name)
	}
	if l := s.judge.lockAt(folder); l != nil {
		l.wrong()
	}
}

func (s *servers) open(session int64) {
	if s.sessions[session] == nil {
		s.sessions[session] = map[*znode]bool{}
		s.judge.opened(session)
	}
}

func (s *servers) close(session int64) {
	owned := s.sessions[session]
	delete(s.sessions, session)
	s.judge.ended(session)
	for z := range owned {
		s.remove(z)
	}
}

func (s *servers) create(name string, session int64, made moment) {
	if s.znodes[name] != nil { // a snapshot had it already
		return
	}
	z := &znode{path: name, session: session, made: made}
	s.znodes[name] = z
	s.open(session)
	s.sessions[session][z] = true
	folder, order, ok := sequence(name)
	if !ok {
		folder = name
	}
	p := s.places[folder]
	if p == nil {
		p = &place{path: folder, lock: s.judge.lockAt(folder)}
		s.places[folder] = p
	}
	z.place, z.order = p, order
	i, _ := slices.BinarySearchFunc(p.children, order, func(c *znode, o int64) int { return cmp.Compare(c.order, o) })
	p.children = slices.Insert(p.children, i, z)
	s.changed(p, i)
}

func (s *servers) remove(z *znode) {
	z.gone = true
	delete(s.znodes, z.path)
	delete(s.sessions[z.session], z)
	p := z.place
	i := slices.Index(p.children, z)
	p.children = slices.Delete(p.children, i, i+1)
	s.changed(p, i)
	if len(p.children) == 0 {
		delete(s.places, p.path)
	}
}

// changed has a place take notice of a child that has come or gone at an index.
func (s *servers) changed(p *place, i int) {
	if i == 0 && len(p.children) > 0 {
		p.reigns++
	}
	if p.lock == nil {
		return
	}
	s.judge.changed(p.lock, p.first())
}

// written has judges take notice of a znode that a session has made, changed or deleted.
func (s *servers) written(name []byte, session int64) {
	for n := len(name); n > 0 && len(s.judge.guarded) > 0; n = bytes.LastIndexByte(name[:n], '/') {
		if l := s.judge.guarded[string(name[:n])]; l != nil {
			s.judge.written(l, string(name), session)
		}
	}
}

// sequence splits the path of a znode into its folder and the sequence number, which ZooKeeper writes as %010d of a
// number of 32 bits: after the last comes the least, with a minus sign.
func sequence(name string) (folder string, number int64, ok bool) {
	folder, base := path.Split(name)
	head := strings.TrimRight(base, "0123456789")
	digits := base[len(head):]
	minus := strings.HasSuffix(head, "-")
	switch {
	case len(digits) >= 10:
		digits = digits[len(digits)-10:]
		minus = minus && digits > "2147483647"
	case len(digits) != 9 || !minus:
		return "", 0, false
	}
	number, _ = strconv.ParseInt(digits, 10, 64)
	if minus {
		number = -number
	}
	return cmp.Or(strings.TrimSuffix(folder, "/"), "/"), number, true
}
