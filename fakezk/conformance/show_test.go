package conformance_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// showStat shows all of a Stat but its times.
func (p *player) showStat(s *zk.Stat) string {
	return fmt.Sprintf("version %d cversion %d aversion %d owner %s length %d children %d czxid %d mzxid %d pzxid %d",
		s.Version, s.Cversion, s.Aversion, p.owner(s.EphemeralOwner), s.DataLength, s.NumChildren, s.Czxid, s.Mzxid,
		s.Pzxid)
}

// owner shows a session as the client that has or had it.
func (p *player) owner(session int64) string {
	if session == 0 {
		return "none"
	}
	if name, ok := p.sessions[session]; ok {
		return name
	}
	return "unknown"
}

// showData tells null and empty data apart.
func showData(data []byte) string {
	if data == nil {
		return "null"
	}
	return fmt.Sprintf("%q", data)
}

// showText quotes what is not plain ASCII.
func showText(text string) string {
	quoted := fmt.Sprintf("%+q", text)
	if quoted == `"`+text+`"` {
		return text
	}
	return quoted
}

func showChildren(children []string) string {
	return "[" + strings.Join(slices.Sorted(slices.Values(children)), " ") + "]"
}

func showACL(list []zk.ACL) string {
	var shown []string
	for _, acl := range list {
		shown = append(shown, fmt.Sprintf("%s:%s:%s", acl.Scheme, showText(acl.ID), showPerms(acl.Perms)))
	}
	return strings.Join(slices.Sorted(slices.Values(shown)), " ")
}

const permLetters = "rwcda" // bit 0 and up

func showPerms(perms int32) string {
	var shown strings.Builder
	for bit, letter := range permLetters {
		if perms&(1<<bit) != 0 {
			shown.WriteRune(letter)
		}
	}
	return shown.String()
}

func showEvent(e zk.Event) string {
	shown := strings.TrimPrefix(e.Type.String(), "Event") + " " + e.Path
	if e.Type == zk.EventSession {
		shown = strings.TrimPrefix(e.State.String(), "State")
	}
	if e.Err != nil {
		shown += " (" + e.Err.Error() + ")"
	}
	return shown
}

func showResult(p *player, r zk.MultiResponse) string {
	switch {
	case r.Error != nil:
		return r.Error.Error()
	case r.Stat != nil && *r.Stat != (zk.Stat{}):
		return p.showStat(r.Stat)
	case r.String != "":
		return r.String
	}
	return "ok"
}
