package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// control is a test in another language.
type control struct {
	*testing.T
	url string
}

func startControl(t *testing.T, s *server.Server) control {
	web := httptest.NewServer(s.Control())
	t.Cleanup(web.Close)
	return control{t, web.URL}
}

func (c control) post(what string) (status int, text string) {
	c.Helper()
	r, err := http.Post(c.url+what, "", nil)
	if err != nil {
		c.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func (c control) must(what string, args ...any) {
	c.Helper()
	if status, text := c.post(fmt.Sprintf(what, args...)); status != http.StatusNoContent {
		c.Errorf("%s: status %d, %s", what, status, text)
	}
}

func (c control) get(what string, into any) {
	c.Helper()
	r, err := http.Get(c.url + what)
	if err != nil {
		c.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		c.Error(err)
	}
}

// want gets a list.
func (c control) want(what, list string) {
	c.Helper()
	var got json.RawMessage
	if c.get(what, &got); string(got) != list {
		c.Errorf("%s: %s, want %s", what, got, list)
	}
}

// All that a Go test can do, a test in another language can.
func TestControl(t *testing.T) {
	t.Parallel()
	s := fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{Replicas: 3}})
	client, events := connect(t, s.Addr(2), lasting)
	if _, err := client.Create("/e", []byte("x"), zk.FlagEphemeral, open); err != nil {
		t.Fatal(err)
	}
	c := startControl(t, s)
	id := fmt.Sprintf("0x%x", client.SessionID())
	c.want("/sessions", fmt.Sprintf(`[{"id":%q,"timeout_ms":%d,"server":3,"connected":true}]`, id, lasting.Milliseconds()))
	c.want("/tree?path=/e", fmt.Sprintf(`[{"path":"/e","data":"eA==","version":0,"owner":%q}]`, id))
	c.must("/hold?session=%s", id)
	c.must("/release?session=%s", id)
	c.must("/lag?server=2&on=true")
	c.must("/lag?server=2&on=false")
	c.must("/depose?server=2")
	awaitState(t, events, zk.StateDisconnected)
	c.must("/notice")
	awaitState(t, events, zk.StateHasSession)
	c.must("/depose")
	awaitState(t, events, zk.StateDisconnected)
	c.must("/notice")
	awaitState(t, events, zk.StateHasSession)
	for _, trouble := range []string{"/cut?when=now&session=" + id, "/kill?server=3", "/quorum?on=false"} {
		c.must("%s", trouble)
		awaitState(t, events, zk.StateDisconnected)
		c.must("/restart?server=3")
		c.must("/quorum?on=true")
		awaitState(t, events, zk.StateHasSession)
	}
	c.must("/stop?server=3")
	c.must("/clock?advance=90s")
	c.must("/resume?server=3")
	awaitState(t, events, zk.StateExpired)
	awaitState(t, events, zk.StateHasSession)
	c.must("/expire?session=0x%x", client.SessionID())
	awaitState(t, events, zk.StateExpired)
}

// What cannot be is refused with a sentence, the request, and what helps.
func TestControlRefuses(t *testing.T) {
	c := startControl(t, fakezktest.Start(t, server.Config{}))
	for what, want := range map[string]string{
		"/expire":                      `400 session: "" is not the id of a session`,
		"/expire?session=me":           `400 session: "me" is not the id of a session`,
		"/expire?session=0x7":          "404 there is no such session",
		"/cut?session=7&when=tomorrow": `400 a connection cannot be cut "tomorrow"`,
		"/kill?server=0":               `400 "0" is none of the servers, which are numbered from 1 to 1`,
		"/lag?server=1&on=true":        "400 server 1 leads, and only a follower can lag",
		"/lag?server=1":                `400 on: "" is neither true nor false`,
		"/depose":                      "400 without server 1, which leads, there is no majority",
		"/depose?server=4":             `400 "4" is none of the servers`,
		"/quorum?on=perhaps":           `400 on: "perhaps" is neither`,
		"/clock?advance=-5s":           `400 advance: "-5s" is not a duration`,
		"/clock?advance=soon":          `400 advance: "soon" is not a duration`,
		"/reset?faults=lag":            `400 faults: unknown fault "lag"`,
		"/reset?every=5":               `400 faults: `,
		"/reset?faults=loss&every=0":   "400 one request in 0 cannot draw a fault",
		"/reset?faults=loss&seed=x":    `400 seed: "x" is not a number`,
		"/nothing":                     "404 there is no such request",
		"/sessions":                    "405 this is asked for by GET, not by POST",
	} {
		status, text := c.post(what)
		var refused struct{ Error, Request, Help string }
		if err := json.Unmarshal([]byte(text), &refused); err != nil {
			t.Errorf("%s: %v: %s", what, err, text)
		}
		if got := fmt.Sprint(status, " ", refused.Error); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
		if refused.Request != "POST "+what || refused.Help == "" {
			t.Errorf("%s: %s", what, text)
		}
	}
}

// A reset makes servers what they were at the start: sessions expire, znodes, counters and faults are gone.
func TestReset(t *testing.T) {
	t.Parallel()
	s := fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{Replicas: 3}})
	c := startControl(t, s)
	none := `{"on":[],"strike":[],"seed":0,"plan":0,"struck":{}}`
	c.want("/faults", none)
	client, events := connect(t, s.Addr(2), lasting)
	create := func() {
		name, err := client.Create("/n-", nil, zk.FlagSequence|zk.FlagEphemeral, open)
		if err != nil || name != "/n-0000000000" {
			t.Errorf("%s, %v", name, err)
		}
	}
	create()
	if _, err := client.Create("/before", nil, 0, open); err != nil {
		t.Error(err)
	}
	id := client.SessionID()
	for _, trouble := range []string{"lag?server=3&on=true", "stop?server=1", "depose?server=3", "kill?server=2", "quorum?on=false"} {
		c.must("/%s", trouble)
	}
	c.must("/reset")
	c.want("/faults", none)
	c.want("/sessions", "[]")
	awaitState(t, events, zk.StateExpired)
	awaitState(t, events, zk.StateHasSession)
	if create(); client.SessionID() == id {
		t.Error("the session of before goes on")
	}
	c.want("/tree?path=/before", "[]")
}

// What is on is listed, with its server or session, and so is what may strike, and what has.
func TestFaultsAreListed(t *testing.T) {
	t.Parallel()
	s := fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{Replicas: 3}})
	c := startControl(t, s)
	c.must("/reset?faults=loss,expiry&every=5&seed=7")
	c.want("/faults", `{"on":[],"strike":["loss","expiry"],"every":5,"seed":7,"plan":0,"struck":{}}`)
	c.must("/reset?faults=expiry&every=1")
	client, _ := connect(t, s.Addr(2), lasting)
	client.Get("/")
	c.want("/faults", `{"on":[],"strike":["expiry"],"every":1,"seed":0,"plan":0,"struck":{"expiry":1}}`)
	client.Close()
	c.must("/reset?faults=none")
	client, _ = connect(t, s.Addr(2), lasting)
	id := fmt.Sprintf("0x%x", client.SessionID())
	c.must("/cut?when=before&session=%s", id)
	c.must("/hold?session=%s", id)
	c.must("/lag?server=2&on=true")
	c.must("/stop?server=1")
	c.want("/faults", fmt.Sprintf(`{"on":[{"fault":"stop","server":1},{"fault":"lag","server":2},{"fault":"hold","session":%q},`+
		`{"fault":"cut","session":%[1]q,"when":"before"}],"strike":[],"every":100,"seed":0,"plan":0,"struck":{}}`, id))
}

// Web pages of others cannot do anything, by whatever method, nor read anything by a name that was made to lead here.
func TestControlRefusesPages(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	c := startControl(t, s)
	for _, test := range []struct {
		method, path, header, value string
		want                        int
	}{
		{"POST", "/kill?server=1", "Origin", "http://evil.example", 403},
		{"POST", "/quorum?on=false", "Host", "evil.example", 421},
		{"GET", "/sessions", "Sec-Fetch-Site", "cross-site", 403},
		{"GET", "/tree", "Host", "evil.example", 421},
		{"GET", "/sessions", "Accept", "*/*", 200},
	} {
		r, err := http.NewRequest(test.method, c.url+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Header.Set(test.header, test.value); test.header == "Host" {
			r.Host = test.value
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != test.want {
			t.Errorf("%+v: %s", test, answer.Status)
		}
	}
	dialRaw(t, s.Addr(0), wire.ConnectResponse{}) // it lives
}
