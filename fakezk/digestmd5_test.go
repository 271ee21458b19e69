package fakezk

import "testing"

// TestDigest: the example of RFC 2831, section 4.
func TestDigest(t *testing.T) {
	says, ok := parseDirectives([]byte(`charset=utf-8,username="chris",realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",nc=00000001,` +
		`cnonce="OA6MHXh6VqTrRk",digest-uri="imap/elwood.innosoft.com",response=d388dad90d4bbd760a152321f2143af7,qop=auth`))
	if !ok {
		t.Fatal("it was not read")
	}
	if got := says.digest("chris", "secret", "AUTHENTICATE:"); got != says["response"] {
		t.Errorf("response=%s, want %s", got, says["response"])
	}
	if got, want := says.digest("chris", "secret", ":"), "ea40f60335c427b5527b84dbabcdfffd"; got != want {
		t.Errorf("rspauth=%s, want %s", got, want)
	}
}

// TestDirectives: RFC 2831, section 7.1.
func TestDirectives(t *testing.T) {
	for text, want := range map[string]directives{
		``:                          {},
		`a=b`:                       {"a": "b"},
		`A = b , c = "d , \"e\"" ,`: {"a": "b", "c": `d , "e"`},
		`,, a=b,,`:                  {"a": "b"},
		`a=""`:                      {"a": ""},
		`a=`:                        nil,
		`a`:                         nil,
		`=b`:                        nil,
		`a=b,a=c`:                   nil,
		`a="b`:                      nil,
		`a="b\`:                     nil,
		`a="b"c`:                    nil,
	} {
		got, ok := parseDirectives([]byte(text))
		if ok != (want != nil) || len(got) != len(want) {
			t.Errorf("%s: %v, %v, want %v", text, got, ok, want)
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %q, want %q", text, name, got[name], value)
			}
		}
	}
}
