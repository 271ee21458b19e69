package fakezk

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// A subtree has a quota if /zookeeper/quota/<path>/zookeeper_limits exists. The sibling zookeeper_stats has its
// numbers of znodes and bytes, and changes without a transaction of its own (DataTree.updateQuotaStat).
const (
	quotaRoot   = "/zookeeper/quota"
	quotaLimits = "zookeeper_limits"
	quotaStats  = "zookeeper_stats"
)

func limitsPath(prefix string) string { return quotaRoot + prefix + "/" + quotaLimits }
func statsPath(prefix string) string  { return quotaRoot + prefix + "/" + quotaStats }

// track is what limits and stats say (StatsTrack): "count=5,bytes=100=;countHardLimit=10". What is not said is -1.
type track map[string]int64

// parseTrack fails where StatsTrack throws an exception.
func parseTrack(data []byte) (track, bool) {
	t := track{}
	if data == nil {
		return nil, false
	}
	text, separator := string(data), func(r rune) bool { return r == ',' || r == ';' }
	if strings.IndexFunc(text, separator) == 0 {
		return nil, false
	}
	for part := range strings.FieldsFuncSeq(text, separator) {
		pair := javaSplit(part, "=")
		if len(pair) < 2 {
			return nil, false
		}
		n := int64(-1)
		if pair[1] != "" {
			var err error
			if n, err = strconv.ParseInt(pair[1], 10, 64); err != nil {
				return nil, false
			}
		}
		t[pair[0]] = n
	}
	return t, true
}

func (t track) get(key string) int64 {
	if n, ok := t[key]; ok {
		return n
	}
	return -1
}

func (t track) text() []byte {
	b := fmt.Appendf(nil, "count=%d,bytes=%d", t.get("count"), t.get("bytes"))
	separator := "=;"
	for _, key := range slices.Sorted(maps.Keys(t)) {
		if key != "count" && key != "bytes" {
			b = fmt.Appendf(b, "%s%s=%d", separator, key, t[key])
			separator = ";"
		}
	}
	return b
}

// quotaOf returns the longest path with a quota that the path is, or is below; "" if there is none.
func (t *tree) quotaOf(path string) string {
	for ; len(t.quotas) > 0 && len(path) > 1; path = parentOf(path) {
		if t.quotas[path] {
			return path
		}
	}
	return ""
}

// quotaCreated counts a new node, which may be one that a quota consists of.
func (t *tree) quotaCreated(n *node) {
	if prefix, ok := strings.CutPrefix(n.parent.path, quotaRoot); ok {
		switch {
		case n.name == quotaLimits && prefix != "":
			if t.quotas == nil {
				t.quotas = map[string]bool{}
			}
			t.quotas[prefix] = true
		case n.name == quotaStats:
			t.recount(prefix, n)
		}
	}
	t.charge(n.path, int64(len(n.data)), 1)
}

// quotaDeleted is quotaCreated for a node that has gone.
func (t *tree) quotaDeleted(n *node) {
	if prefix, ok := strings.CutPrefix(n.parent.path, quotaRoot); ok && n.name == quotaLimits {
		delete(t.quotas, prefix)
	}
	t.charge(n.path, -int64(len(n.data)), -1)
}

// recount fills new stats with what is there (DataTree.updateQuotaForPath).
func (t *tree) recount(prefix string, stats *node) {
	sum := track{"count": 0, "bytes": 0}
	if n := t.nodes[prefix]; n != nil {
		n.sum(sum)
	}
	stats.data = sum.text()
}

func (n *node) sum(t track) {
	t["count"]++
	t["bytes"] += int64(len(n.data))
	for child := range n.children.all() {
		child.sum(t)
	}
}

// charge adds to the stats of the quota that a path is under. Stats that cannot be read stay as they are; a real
// server ends.
func (t *tree) charge(path string, bytes, count int64) {
	prefix := t.quotaOf(path)
	if prefix == "" {
		return
	}
	stats := t.nodes[statsPath(prefix)]
	if stats == nil {
		return
	}
	if now, ok := parseTrack(stats.data); ok {
		now["count"], now["bytes"] = now.get("count")+count, now.get("bytes")+bytes
		stats.data = now.text()
	}
}

// overQuota returns a code if a request exceeds a hard limit (ZooKeeperServer.checkQuota). It counts applied transactions
// only: the operations of a multi do not add up. Unreadable limits and stats are Marshalling.
func (p *proposer) overQuota(path string, bytes, count int64) wire.Code {
	if !p.cfg.EnforceQuota {
		return wire.CodeOK
	}
	t := p.tree
	prefix := t.quotaOf(path)
	if prefix == "" || t.nodes[limitsPath(prefix)] == nil {
		return wire.CodeOK
	}
	limits, ok := parseTrack(t.nodes[limitsPath(prefix)].data)
	if !ok {
		return wire.CodeMarshalling
	}
	counted := count != 0 && max(limits.get("count"), limits.get("countHardLimit")) > -1
	weighed := bytes != 0 && max(limits.get("bytes"), limits.get("byteHardLimit")) > -1
	stats := t.nodes[statsPath(prefix)]
	if !counted && !weighed || stats == nil {
		return wire.CodeOK
	}
	now, ok := parseTrack(stats.data)
	switch {
	case !ok:
		return wire.CodeMarshalling
	case counted && exceeds(now.get("count")+count, limits.get("countHardLimit")),
		weighed && exceeds(now.get("bytes")+bytes, limits.get("byteHardLimit")):
		return wire.CodeQuotaExceeded
	}
	return wire.CodeOK
}

func exceeds(n, hardLimit int64) bool { return hardLimit > -1 && n > hardLimit }
