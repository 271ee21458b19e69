package conformance_test

import (
	"crypto/md5"
	"fmt"
	"regexp"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
)

// saslClient is the client's side of DIGEST-MD5, as RFC 2831 has it.
type saslClient struct{ nonce, proof string }

var noncePattern = regexp.MustCompile(`nonce="([^"]*)"`)

// respond makes a response to the challenge that came last. Words replace its directives, name=value each.
func (c *saslClient) respond(user, password string, instead ...string) []byte {
	says := map[string]string{
		"username": quoted(user), "realm": `"zk-sasl-md5"`, "nonce": quoted(c.nonce), "cnonce": `"cnonce"`, "nc": "00000001", "qop": "auth",
		"digest-uri": `"zookeeper/zk-sasl-md5"`, "charset": "utf-8",
	}
	for _, word := range instead {
		name, value, _ := strings.Cut(word, "=")
		says[name] = value
	}
	says["response"] = c.digest("AUTHENTICATE:", user, password, says)
	c.proof = c.digest(":", user, password, says)
	var token []string
	for _, name := range []string{"username", "realm", "nonce", "cnonce", "nc", "qop", "digest-uri", "charset", "authzid", "response"} {
		if value := says[name]; value != "" {
			token = append(token, name+"="+value)
		}
	}
	return []byte(strings.Join(token, ","))
}

func quoted(text string) string { return `"` + text + `"` }

func (c *saslClient) digest(method, user, password string, says map[string]string) string {
	plain := func(name string) string { return strings.Trim(says[name], `"`) }
	sum := func(text string) string { return fmt.Sprintf("%x", md5.Sum([]byte(text))) }
	secret := md5.Sum([]byte(latin1(user) + ":" + plain("realm") + ":" + latin1(password)))
	a1 := string(secret[:]) + ":" + plain("nonce") + ":" + plain("cnonce")
	if says["authzid"] != "" {
		a1 += ":" + plain("authzid")
	}
	return sum(sum(a1) + ":" + plain("nonce") + ":00000001:" + plain("cnonce") + ":auth:" + sum(method+plain("digest-uri")))
}

// latin1 is the text in ISO 8859-1, if that has all its letters.
func latin1(text string) string {
	var b []byte
	for _, r := range text {
		if r > 0xff {
			return text
		}
		b = append(b, byte(r))
	}
	return string(b)
}

// show replaces what is new in each exchange, and remembers the challenge.
func (c *saslClient) show(text string, reply *fakezk.Response) string {
	if reply == nil {
		return text
	}
	if found := noncePattern.FindSubmatch(reply.Data); found != nil {
		c.nonce = string(found[1])
		return strings.ReplaceAll(text, c.nonce, "NONCE")
	}
	if c.proof != "" && string(reply.Data) == "rspauth="+c.proof {
		return strings.ReplaceAll(text, c.proof, "PROOF")
	}
	return text
}
