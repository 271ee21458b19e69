package recipes

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
)

// member is a child named prefix<guid>-<sequence>: a contender for a lock, an item of a queue.
type member struct {
	name     string
	guid     string
	sequence int64
	czxid    int64 // the transaction that created it; 0 where the sequence number suffices
}

// parseMember splits a name. Names of another form are not the recipe's. The sequence number may carry a minus sign
// of its own ("lock-<guid>--2147483648"), so the guid, which contains no hyphen, is cut off from the front.
func parseMember(prefix, name string) (member, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return member{}, false
	}
	guid, digits, ok := strings.Cut(rest, "-")
	if !ok || guid == "" || len(digits) < 10 {
		return member{}, false
	}
	sequence, err := strconv.ParseInt(digits, 10, 32)
	return member{name: name, guid: guid, sequence: sequence}, err == nil && digits[0] != '+'
}

func parseMembers(names []string, prefixes ...string) (members []member) {
	for _, prefix := range prefixes {
		for _, name := range names {
			if m, ok := parseMember(prefix, name); ok {
				members = append(members, m)
			}
		}
	}
	return members
}

// wrapped reports whether the sequence numbers of members do not give their order of creation.
//
// ZooKeeper numbers the children of a directory by a counter of 32 bits (PrepRequestProcessor, "%010d" of the
// parent's cversion). Up to 2147483646 each number is given once and they grow. Then servers differ. In 3.8 the
// counter sticks at 2147483647, so that several znodes, apart only by their guids, carry that number; creates in a
// pipeline, and all creates of older servers, go on with -2147483648 upwards. So as long as no member has a negative
// number or 2147483647, numbers are in order of creation. (To be misled one would need a member that stays while 2^31
// others come and go and no member with a negative number is left: at 10,000 creates a second, two and a half days.)
func wrapped(members []member) bool {
	return slices.ContainsFunc(members, func(m member) bool {
		return m.sequence < 0 || m.sequence == math.MaxInt32
	})
}

// compareMembers orders by creation: by czxid if they have one, else by sequence number. The name only makes the
// order total.
func compareMembers(a, b member) int {
	return cmp.Or(cmp.Compare(a.czxid, b.czxid), cmp.Compare(a.sequence, b.sequence), strings.Compare(a.name, b.name))
}

// lister is [retryConn.children] or [retryConn.syncedChildren].
type lister func(ctx context.Context, dir string) ([]string, error)

// members lists the members of a directory in order of creation.
//
// Normally that is the order of their sequence numbers. Where these have wrapped it asks for the czxid of each, one
// Exists per child: zxids never wrap, and each member was created by a transaction of its own. Clients that see
// different lists may follow different rules at the same moment and still agree, because both rules give the order of
// creation.
//
// A member that is gone when it is asked for is left out: it was deleted, and names do not come back. If all are gone
// the directory is listed again, so that an empty answer means that a listing was empty.
func (l *retryConn) members(ctx context.Context, dir string, list lister, prefixes ...string) ([]member, error) {
	for {
		session := l.conn.SessionID()
		names, err := list(ctx, dir)
		if err != nil {
			return nil, err
		}
		members := parseMembers(names, prefixes...)
		if len(members) == 0 {
			return nil, nil
		}
		if members, err = l.ordered(ctx, dir, session, members); err != nil || len(members) > 0 {
			return members, err
		}
	}
}

// ordered puts members in order of creation, without those that are gone if it had to ask. It returns none if the
// session in which they were listed has been replaced meanwhile: a new one may be served by a server that lags, to
// which a member that is there seems gone.
func (l *retryConn) ordered(ctx context.Context, dir string, session int64, members []member) (_ []member, err error) {
	if wrapped(members) {
		members, err = l.dated(ctx, dir, members)
		if l.conn.SessionID() != session {
			members = nil
		}
	}
	slices.SortFunc(members, compareMembers)
	return members, err
}

// dated gives each member its czxid and leaves out those that are gone.
func (l *retryConn) dated(ctx context.Context, dir string, members []member) ([]member, error) {
	alive := members[:0]
	for _, m := range members {
		ok, stat, err := l.exists(ctx, join(dir, m.name))
		if err != nil {
			return nil, err
		}
		if ok {
			m.czxid = stat.Czxid
			alive = append(alive, m)
		}
	}
	return alive, nil
}
