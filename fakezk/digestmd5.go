package fakezk

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/digest"
)

// ZooKeeper's servers all have this name in DIGEST-MD5 (SecurityUtils.createSaslServer).
const (
	saslRealm = "zk-sasl-md5"
	saslURI   = "zookeeper/" + saslRealm
)

// saslTokenMax is the longest response that Java's DigestMD5Server reads, in bytes.
const saslTokenMax = 4096

// digestMD5 is the server's side of SASL's DIGEST-MD5, with quality of protection "auth" (RFC 2831; Java's
// com.sun.security.sasl.digest.DigestMD5Server). The first token requests a challenge, whatever its content; the next
// answers it. A login ends with that, or with a failure.
type digestMD5 struct {
	nonce string
	step  saslStep
}

type saslStep int

const (
	saslBegins saslStep = iota
	saslChallenged
	saslSpent
)

// evaluate answers a token. The user is not empty when the exchange has succeeded.
func (d *digestMD5) evaluate(token []byte, users map[string]string) (reply []byte, user string, ok bool) {
	step := d.step
	d.step = saslSpent
	switch {
	case len(token) > saslTokenMax:
	case step == saslBegins:
		d.step = saslChallenged
		return fmt.Appendf(nil, `realm="%s",nonce="%s",charset=utf-8,algorithm=md5-sess`, saslRealm, d.nonce), "", true
	case step == saslChallenged:
		return d.verify(token, users)
	}
	return nil, "", false
}

// verify checks a response (RFC 2831, 2.1.2) and proves in return that the server knows the password, too (2.1.3).
func (d *digestMD5) verify(token []byte, users map[string]string) (reply []byte, user string, ok bool) {
	says, ok := parseDirectives(token)
	if !ok || !d.acceptable(says) {
		return nil, "", false
	}
	user = says["username"]
	password, known := users[user]
	if !known || user == "" {
		return nil, "", false
	}
	response := says.digest(user, password, "AUTHENTICATE:")
	if !hmac.Equal([]byte(response), []byte(says["response"])) {
		return nil, "", false
	}
	return []byte("rspauth=" + says.digest(user, password, ":")), user, true
}

// acceptable checks all but the user and the response.
func (d *digestMD5) acceptable(says directives) bool {
	_, given := says["cnonce"]
	charset, utf := says["charset"]
	qop, chosen := says["qop"]
	return given && says["realm"] == saslRealm && says["nonce"] == d.nonce && strings.EqualFold(says["digest-uri"], saslURI) &&
		(!utf || charset == "utf-8") && (!chosen || qop == "auth")
}

// digest is the response-value of RFC 2831, 2.1.2.1, or with another beginning of A2 the one of 2.1.3.
func (says directives) digest(user, password, method string) string {
	encode := func(s string) string { return s }
	if _, utf := says["charset"]; utf {
		encode = narrowed
	}
	secret := md5.Sum([]byte(encode(user) + ":" + encode(says["realm"]) + ":" + encode(password)))
	a1 := append(secret[:], ":"+says["nonce"]+":"+says["cnonce"]...)
	if authzid := says["authzid"]; authzid != "" {
		a1 = append(a1, ":"+authzid...)
	}
	return hexMD5([]byte(strings.Join([]string{
		hexMD5(a1), says["nonce"], "00000001", says["cnonce"], "auth", hexMD5([]byte(method + says["digest-uri"])),
	}, ":")))
}

func hexMD5(text []byte) string {
	sum := md5.Sum(text)
	return hex.EncodeToString(sum[:])
}

// narrowed is the text in ISO 8859-1 if it has no other letters, which is how UTF-8 is hashed (RFC 2831, 2.1.2.1).
func narrowed(text string) string {
	var narrow []byte
	for _, r := range text {
		if r > 0xff || r == utf8.RuneError {
			return text
		}
		narrow = append(narrow, byte(r))
	}
	return string(narrow)
}

// directives are those of a response, by their names.
type directives map[string]string

// parseDirectives reads name=value, …; a value may be in quotes, with backslashes. No name comes twice.
func parseDirectives(token []byte) (directives, bool) {
	says := directives{}
	for rest := bytes.TrimLeft(token, ", \t\r\n"); len(rest) > 0; rest = bytes.TrimLeft(rest, ", \t\r\n") {
		name, after, found := bytes.Cut(rest, []byte("="))
		key := strings.ToLower(strings.TrimSpace(string(name)))
		if _, twice := says[key]; !found || key == "" || twice {
			return nil, false
		}
		value, left, ok := directiveValue(bytes.TrimLeft(after, " \t\r\n"))
		if !ok {
			return nil, false
		}
		says[key], rest = value, left
	}
	return says, true
}

// directiveValue reads a value up to the comma behind it.
func directiveValue(text []byte) (value string, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		word, rest, _ := bytes.Cut(text, []byte(","))
		word = bytes.TrimSpace(word)
		return string(word), rest, len(word) > 0
	}
	var b []byte
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i++; i == len(text) {
				return "", nil, false
			}
			b = append(b, text[i])
		case '"':
			space, rest, _ := bytes.Cut(text[i+1:], []byte(","))
			return string(b), rest, len(bytes.TrimSpace(space)) == 0
		default:
			b = append(b, text[i])
		}
	}
	return "", nil, false
}

// saslNonce is new for each connection, and the same in equal runs.
func saslNonce(seed uint64, id ConnID) string {
	var b []byte
	for x, i := digest.Mix(seed^digest.Mix(uint64(id))), 0; i < 4; i++ {
		x = digest.Mix(x)
		b = binary.BigEndian.AppendUint64(b, x)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// login answers a token (ZooKeeperServer.processSasl). It does not prolong the session. Without users there is nothing
// to negotiate: the answer is a null token. Who fails is told AuthFailed, and cut off.
func (c *connection) login(r *Request, cfg *Config) {
	if r.Auth == nil { // the server asks for the length of the token, and what that throws ends the connection
		c.hangUp()
		return
	}
	reply := c.replica.streams.blocks.response()
	if cfg.Users == nil {
		c.push(Message{Reply: reply})
		return
	}
	if c.sasl == nil {
		c.sasl = &digestMD5{nonce: saslNonce(cfg.Order, c.id)}
	}
	token, user, ok := c.sasl.evaluate(r.Auth, cfg.Users)
	if !ok {
		reply.Err = wire.CodeAuthFailed
		c.push(Message{Reply: reply})
		c.hangUp()
		return
	}
	if user != "" {
		c.add(identity{"sasl", user})
	}
	reply.Data = token
	c.push(Message{Reply: reply})
}
