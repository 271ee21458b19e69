package fakezk

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"
)

// The servers are Java programs: a text that arrives becomes UTF-16 and is written again by Jute's own
// encoder. Inside the fake texts are valid UTF-8; what the detour does to others happens here.

// received returns a request as the server reads it. It is the same one if all its texts are UTF-8.
func received(r *Request) *Request {
	if wellEncoded(r) {
		return r
	}
	read := *r
	read.Path, read.Scheme = decoded(r.Path), decoded(r.Scheme)
	read.ACL = mapped(r.ACL, inACL(decoded))
	for _, list := range read.WatchLists() {
		*list = mapped(*list, decoded)
	}
	read.Ops = mapped(r.Ops, func(op Request) Request { return *received(&op) })
	return &read
}

func wellEncoded(r *Request) bool {
	valid := utf8.ValidString
	for i := range r.ACL {
		if !valid(r.ACL[i].Scheme) || !valid(r.ACL[i].ID) {
			return false
		}
	}
	for i := range r.Ops {
		if !wellEncoded(&r.Ops[i]) {
			return false
		}
	}
	for _, list := range r.WatchLists() {
		for _, path := range *list {
			if !valid(path) {
				return false
			}
		}
	}
	return valid(r.Path) && valid(r.Scheme)
}

func mapped[T any](list []T, f func(T) T) []T {
	list = slices.Clone(list)
	for i := range list {
		list[i] = f(list[i])
	}
	return list
}

func inACL(f func(string) string) func(zk.ACL) zk.ACL {
	return func(a zk.ACL) zk.ACL { return zk.ACL{Perms: a.Perms, Scheme: f(a.Scheme), ID: f(a.ID)} }
}

// decoded is new String(bytes, UTF_8): each malformed part becomes one U+FFFD.
func decoded(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			n = malformed(s)
		}
		out.WriteRune(r)
		s = s[n:]
	}
	return out.String()
}

// malformed returns how many bytes at the beginning Java replaces by one U+FFFD: the longest prefix of a character,
// or a whole surrogate.
func malformed(s string) int {
	least, most, size := byte(0x80), byte(0xbf), 3 // of the second byte; of the character
	switch lead := s[0]; {
	case lead < 0xc2 || lead > 0xf4:
		return 1
	case lead < 0xe0:
		size = 2
	case lead == 0xe0:
		least = 0xa0
	case lead >= 0xf0:
		size = 4
		if lead == 0xf0 {
			least = 0x90
		} else if lead == 0xf4 {
			most = 0x8f
		}
	}
	if len(s) < 2 || s[1] < least || s[1] > most {
		return 1
	}
	n := 2
	for n < min(size, len(s)) && s[n]&0xc0 == 0x80 {
		n++
	}
	return n
}

// encoded is what BinaryOutputArchive.stringToByteBuffer writes: a character outside the Basic Multilingual Plane as
// two surrogates of three bytes each (CESU-8).
func encoded(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r > 0xffff }) {
		return s
	}
	var out []byte
	for _, r := range s {
		if r <= 0xffff {
			out = utf8.AppendRune(out, r)
			continue
		}
		high, low := utf16.EncodeRune(r)
		out = appendSurrogate(appendSurrogate(out, high), low)
	}
	return string(out)
}

func appendSurrogate(b []byte, r rune) []byte {
	return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0xbf)
}

// rewritten is a list after the server has written and read it: the operations of a multi go through bytes, and
// surrogates cannot be read (PrepRequestProcessor.pRequest).
func rewritten(acl []zk.ACL) []zk.ACL {
	if !slices.ContainsFunc(acl, func(a zk.ACL) bool {
		return encoded(a.Scheme) != a.Scheme || encoded(a.ID) != a.ID
	}) {
		return acl
	}
	return mapped(acl, inACL(func(s string) string { return decoded(encoded(s)) }))
}
