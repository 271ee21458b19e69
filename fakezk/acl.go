package fakezk

import (
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

// identity is one of the ids that a connection has proved (data.Id).
type identity struct{ scheme, id string }

var (
	openACL   = zk.WorldACL(zk.PermAll)  // shared by all nodes that have it; never changed
	configACL = zk.WorldACL(zk.PermRead) // of /zookeeper/config
)

// admits reports whether the connection has one of the permissions on a node with this list
// (ZooKeeperServer.checkACL): an empty list admits everybody, "super" is admitted everywhere.
func (c *connection) admits(acl []zk.ACL, perms int32) bool {
	if len(acl) == 0 || c.super {
		return true
	}
	for i := range acl {
		if acl[i].Perms&perms != 0 && c.matches(&acl[i]) {
			return true
		}
	}
	return false
}

func (c *connection) matches(a *zk.ACL) bool {
	if a.Scheme == "world" {
		return a.ID == "anyone"
	}
	for _, id := range c.ids {
		if id.scheme == a.Scheme && identityMatches(id, a.ID) {
			return true
		}
	}
	return false
}

func identityMatches(id identity, expression string) bool {
	if id.scheme == "ip" {
		return addressMatches(id.id, expression)
	}
	return id.id == expression
}

// fixACL is the list that is stored for the one of a request (PrepRequestProcessor.fixupACL): without duplicates, and
// with the connection's ids for "auth". False means InvalidACL.
func (c *connection) fixACL(list []zk.ACL) ([]zk.ACL, bool) {
	if len(list) == 1 && list[0] == openACL[0] {
		return openACL, true
	}
	var fixed []zk.ACL
	for i, a := range list {
		if slices.Contains(list[:i], a) {
			continue
		}
		if a.Scheme == "auth" {
			own := c.expand(a.Perms)
			if own == nil {
				return nil, false
			}
			fixed = append(fixed, own...)
			continue
		}
		if !wellFormed(a) {
			return nil, false
		}
		fixed = append(fixed, a)
	}
	return fixed, len(fixed) > 0
}

// expand gives the permissions to every id that was proved by a secret; an address is none.
func (c *connection) expand(perms int32) []zk.ACL {
	var own []zk.ACL
	for _, id := range c.ids {
		if id.scheme == "digest" {
			own = append(own, zk.ACL{Perms: perms, Scheme: id.scheme, ID: id.id})
		}
	}
	return own
}

// wellFormed reports whether a list may have the entry.
func wellFormed(a zk.ACL) bool {
	switch a.Scheme {
	case "world":
		return a.ID == "anyone"
	case "digest": // Java's split drops empty parts at the end
		return len(strings.Split(strings.TrimRight(a.ID, ":"), ":")) == 2
	case "ip":
		_, _, ok := network(a.ID)
		return ok
	}
	return false
}

// network parses a.b.c.d[/bits] (IPAuthenticationProvider.isValid: IPv4 only).
func network(expression string) (address uint32, bits int, ok bool) {
	host, mask, masked := strings.Cut(expression, "/")
	address, ok = ipv4(host)
	if !masked {
		return address, 32, ok
	}
	bits, err := strconv.Atoi(mask)
	return address, bits, ok && err == nil && bits >= 0 && bits <= 32
}

// ipv4 parses as Java does, so leading zeros and a sign are accepted.
func ipv4(host string) (address uint32, ok bool) {
	parts := strings.Split(host, ".")
	for _, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 255 {
			return 0, false
		}
		address = address<<8 | uint32(n)
	}
	return address, len(parts) == 4
}

func addressMatches(host, expression string) bool {
	want, bits, ok := network(expression)
	have, known := ipv4(host)
	return ok && known && (want^have)>>(32-bits) == 0
}

// digestID is DigestAuthenticationProvider.generateDigest: user:base64(sha1("user:password")).
func digestID(secret []byte) string {
	user, _, _ := strings.Cut(string(secret), ":")
	sum := sha1.Sum(secret)
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}

// prove adds what the credentials prove to the connection. False means that the scheme is unknown, or that there are
// none (new String(null) throws).
func (c *connection) prove(scheme string, secret []byte, superDigest string) bool {
	switch {
	case scheme == "digest" && secret != nil:
		id := digestID(secret)
		c.super = c.super || superDigest != "" && id == superDigest
		c.add(identity{"digest", id})
		return true
	case scheme == "ip":
		c.add(identity{"ip", c.address})
		return true
	}
	return false
}

func (c *connection) add(id identity) {
	if !slices.Contains(c.ids, id) {
		c.ids = append(c.ids, id)
	}
}

// redact hides the digests from a client that may read the list but not administer it.
func redact(list []zk.ACL) {
	for i, a := range list {
		if a.Scheme == "digest" {
			user, _, _ := strings.Cut(a.ID, ":")
			list[i].ID = user + ":x"
		}
	}
}
