package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/webpage"
)

// Control returns an HTTP interface to the methods of Server, for tests in any language.
// docs/reference/control.openapi.json describes it. Session ids are written as clients print them, 0x…; servers are
// numbered from 1. Errors have status 400, or 404 for what is unknown, and say as JSON what happened, at which request, and
// what helps. Web pages of others are refused (status 403, or 421 for a foreign name).
func (s *Server) Control() http.Handler {
	bySession := func(do func(session int64) error) asked {
		return func(q url.Values) (any, error) {
			session, err := parseSession(q.Get("session"))
			if err == nil {
				err = do(session)
			}
			return nil, err
		}
	}
	byServer := func(do func(member int) error) asked {
		return func(q url.Values) (any, error) {
			member, err := parseMember(q.Get("server"), len(s.members))
			if err == nil {
				err = do(member)
			}
			return nil, err
		}
	}
	always := func(do func(member int)) asked {
		return byServer(func(member int) error { do(member); return nil })
	}
	return webpage.OwnOnly(route(map[string]asked{
		"GET /sessions": s.show(func(url.Values) any { return listSessions(s.servers) }),
		"GET /tree":     s.show(func(q url.Values) any { return listTree(s.servers, cmp.Or(q.Get("path"), "/")) }),
		"GET /faults":   s.show(func(url.Values) any { return s.listFaults() }),
		"POST /reset":   s.reset,
		"POST /expire":  bySession(s.Expire),
		"POST /cut": func(q url.Values) (any, error) {
			return bySession(func(session int64) error { return s.Cut(session, q.Get("when")) })(q)
		},
		"POST /hold":    bySession(s.Hold),
		"POST /release": bySession(s.Release),
		"POST /kill":    always(s.Kill),
		"POST /restart": always(s.Restart),
		"POST /stop":    always(s.Stop),
		"POST /resume":  always(s.Resume),
		"POST /lag": func(q url.Values) (any, error) {
			on, err := parseSwitch(q)
			if err != nil {
				return nil, err
			}
			return byServer(func(member int) error { return s.Lag(member, on) })(q)
		},
		"POST /depose": func(q url.Values) (any, error) {
			if !q.Has("server") {
				q.Set("server", s.anyFollower())
			}
			return byServer(s.Depose)(q)
		},
		"POST /notice": func(url.Values) (any, error) { s.Notice(); return nil, nil },
		"POST /quorum": func(q url.Values) (any, error) {
			on, err := parseSwitch(q)
			if err == nil {
				s.do(func() { s.setLost(!on) })
			}
			return nil, err
		},
		"POST /clock": func(q url.Values) (any, error) {
			d, err := time.ParseDuration(q.Get("advance"))
			if err != nil || d < 0 || d > advanceMax {
				return nil, fmt.Errorf("advance: %q is not a duration from 0 to %v, such as 10s", q.Get("advance"), advanceMax)
			}
			s.Advance(d)
			return nil, nil
		},
	}))
}

// asked carries out a request, and returns what is answered; nil for nothing.
type asked func(url.Values) (any, error)

// route serves requests.
func route(requests map[string]asked) http.Handler {
	mux := http.NewServeMux()
	all := slices.Sorted(maps.Keys(requests))
	for _, name := range all {
		mux.HandleFunc(name, func(w http.ResponseWriter, r *http.Request) {
			body, err := requests[name](r.URL.Query())
			answer(w, r, body, err)
		})
	}
	there := "there are " + strings.Join(slices.Compact(all), ", ")
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			other := *r
			other.Method = method
			if _, pattern := mux.Handler(&other); pattern != "/" {
				w.Header().Set("Allow", method)
				refuse(w, r, http.StatusMethodNotAllowed, "this is asked for by "+method+", not by "+r.Method, "use "+method)
				return
			}
		}
		refuse(w, r, http.StatusNotFound, "there is no such request", there)
	})
	return mux
}

// show answers a request that changes nothing.
func (s *Server) show(of func(url.Values) any) asked {
	return func(q url.Values) (list any, _ error) {
		s.do(func() { list = of(q) })
		return list, nil
	}
}

// reset carries out Reset, with faults as torture serve takes them.
func (s *Server) reset(q url.Values) (any, error) {
	if len(q) == 0 {
		return nil, s.Reset(s.cfg.Faults)
	}
	some, err := strike.Parse(q.Get("faults"), strike.FaultsOf(len(s.members)))
	if err != nil {
		return nil, fmt.Errorf("faults: %w", err)
	}
	f := &Faults{Strike: some, Every: 100}
	for name, into := range map[string]any{"every": &f.Every, "seed": &f.Seed} {
		if err := json.Unmarshal([]byte(q.Get(name)), into); err != nil && q.Has(name) {
			return nil, fmt.Errorf("%s: %q is not a number, or not one that there can be", name, q.Get(name))
		}
	}
	if s.cfg.Faults != nil {
		f.Struck = s.cfg.Faults.Struck
	}
	return nil, s.Reset(f)
}

// advanceMax bounds how far the clock is moved at once.
const advanceMax = 365 * 24 * time.Hour

func answer(w http.ResponseWriter, r *http.Request, body any, err error) {
	switch {
	case errors.Is(err, ErrNoSession):
		refuse(w, r, http.StatusNotFound, err.Error(), "GET /sessions lists the sessions")
	case err != nil:
		refuse(w, r, http.StatusBadRequest, err.Error(), "the parameters are in docs/serve.md#in-any-language")
	case body == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		write(w, http.StatusOK, body)
	}
}

// refusal is the answer to a request that is not carried out.
type refusal struct {
	Error   string `json:"error"`   // what happened
	Request string `json:"request"` // to what
	Help    string `json:"help"`    // what to do
}

func refuse(w http.ResponseWriter, r *http.Request, status int, what, help string) {
	write(w, status, refusal{strings.TrimPrefix(what, "server: "), r.Method + " " + r.URL.RequestURI(), help})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false) // requests have an &
	to.Encode(body)
}

// parseSession reads a session's id, with or without 0x.
func parseSession(text string) (int64, error) {
	id, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("session: %q is not the id of a session, such as 0x100a3d9c2b10001", text)
	}
	return int64(id), nil
}

func parseMember(text string, members int) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 || number > members {
		return 0, fmt.Errorf("server: %q is none of the servers, which are numbered from 1 to %d", text, members)
	}
	return number - 1, nil
}

// anyFollower is the number of a live member that does not lead.
func (s *Server) anyFollower() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	leader := s.servers.Leader()
	i := slices.IndexFunc(s.members, func(m *member) bool { return m.index != leader && !m.dead })
	return strconv.Itoa(max(i, 0) + 1)
}

func parseSwitch(q url.Values) (bool, error) {
	on, err := strconv.ParseBool(q.Get("on"))
	if err != nil {
		return false, fmt.Errorf("on: %q is neither true nor false", q.Get("on"))
	}
	return on, nil
}

// listedSession is a session as Control lists it.
type listedSession struct {
	ID        string `json:"id"` // 0x…
	TimeoutMS int64  `json:"timeout_ms"`
	Server    int    `json:"server"` // to which it connected last, from 1
	Connected bool   `json:"connected"`
}

func listSessions(e *fakezk.Ensemble) []listedSession {
	list := []listedSession{}
	for _, x := range e.Sessions() {
		list = append(list, listedSession{sessionName(x.ID), x.Timeout, x.Replica + 1, x.Connected})
	}
	return list
}

// listedZnode is a znode as Control lists it.
type listedZnode struct {
	Path    string `json:"path"`
	Data    []byte `json:"data"` // in base64
	Version int32  `json:"version"`
	Owner   string `json:"owner,omitempty"` // the session of an ephemeral one
}

func listTree(e *fakezk.Ensemble, path string) []listedZnode {
	list := []listedZnode{}
	e.Walk(path, func(path string, n fakezk.NodeInfo) {
		z := listedZnode{Path: path, Data: n.Data, Version: n.Stat.Version}
		if n.Stat.EphemeralOwner != 0 {
			z.Owner = sessionName(n.Stat.EphemeralOwner)
		}
		list = append(list, z)
	})
	return list
}

// listedFaults are the faults as Control lists them.
type listedFaults struct {
	On     []listedFault        `json:"on"`     // by hand, or for a while
	Strike []strike.Fault       `json:"strike"` // what requests may draw, with these odds
	Every  int                  `json:"every,omitempty"`
	Seed   uint64               `json:"seed"`
	Plan   int                  `json:"plan"`   // how many are planned
	Struck map[strike.Fault]int `json:"struck"` // how many have since the start, or the last reset
}

type listedFault struct {
	Fault   strike.Fault `json:"fault"`
	Server  int          `json:"server,omitempty"`
	Session string       `json:"session,omitempty"`
	When    string       `json:"when,omitempty"` // of a cut that is still to come
}

// listFaults lists the faults. mu is held.
func (s *Server) listFaults() listedFaults {
	f, on := s.strikes.faults, []listedFault{}
	add := func(is bool, x listedFault) {
		if is {
			on = append(on, x)
		}
	}
	add(s.lost, listedFault{Fault: strike.Quorum})
	for i, m := range s.members {
		add(m.dead, listedFault{Fault: strike.Kill, Server: i + 1})
		add(m.resume != nil, listedFault{Fault: strike.Stop, Server: i + 1})
		add(s.servers.Lags(i), listedFault{Fault: strike.Lag, Server: i + 1})
		add(i == s.servers.Deposed(), listedFault{Fault: strike.Deposed, Server: i + 1})
		for _, c := range s.sorted(m) {
			when := s.strikes.engine.Armed(c.order)
			add(c.held, listedFault{Fault: strike.Hold, Session: sessionName(c.session)})
			add(when != "", listedFault{Fault: "cut", Session: sessionName(c.session), When: when})
		}
	}
	return listedFaults{on, append([]strike.Fault{}, f.Strike...), f.Every, f.Seed, len(f.Plan),
		maps.Clone(s.strikes.counts)}
}
