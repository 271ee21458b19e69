package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/webpage"
)

// Control returns an HTTP interface to the methods of Server, for tests in any language. Session ids are written as
// clients print them, 0x…; servers are numbered from 1.
//
//	GET  /sessions                       the sessions, as JSON
//	GET  /tree?path=/                    the znodes at and below a path, as JSON
//	POST /expire?session=0x…             Expire
//	POST /cut?session=0x…&when=after     Cut: now, before or after
//	POST /hold?session=0x…               Hold; /release ends it
//	POST /lag?server=2&on=true           Lag
//	POST /kill?server=2                  Kill; /restart ends it
//	POST /stop?server=2                  Stop; /resume ends it
//	POST /depose?server=2                Depose: the server is the new leader, any if it is left out; /notice ends it
//	POST /quorum?on=false                LoseQuorum; on=true: RegainQuorum
//	POST /clock?advance=10s              Advance
//
// and, as ZooKeeper's AdminServer, GET /commands and the commands that it lists: of the leader, or of ?server=2. Errors
// have status 400, or 404 for an unknown session, and a sentence; those of commands are in their answers, as there.
//
// Web pages of others are refused (status 403, or 421 for a foreign name), also where ZooKeeper's commands change
// something by GET.
func (s *Server) Control() http.Handler {
	mux := http.NewServeMux()
	post := func(name string, do func(url.Values) error) {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) { answer(w, do(r.URL.Query())) })
	}
	bySession := func(name string, do func(session int64, q url.Values) error) {
		post(name, func(q url.Values) error {
			session, err := parseSession(q.Get("session"))
			if err != nil {
				return err
			}
			return do(session, q)
		})
	}
	byServer := func(name string, do func(member int)) {
		post(name, func(q url.Values) error {
			member, err := parseMember(q.Get("server"), len(s.members))
			if err == nil {
				do(member)
			}
			return err
		})
	}
	bySession("expire", func(session int64, _ url.Values) error { return s.Expire(session) })
	bySession("cut", func(session int64, q url.Values) error { return s.Cut(session, q.Get("when")) })
	bySession("hold", func(session int64, _ url.Values) error { return s.Hold(session) })
	bySession("release", func(session int64, _ url.Values) error { return s.Release(session) })
	byServer("kill", s.Kill)
	byServer("restart", s.Restart)
	byServer("stop", s.Stop)
	byServer("resume", s.Resume)
	post("lag", func(q url.Values) error {
		on, err := parseSwitch(q)
		member, unknown := parseMember(q.Get("server"), len(s.members))
		if err := errors.Join(err, unknown); err != nil {
			return err
		}
		return s.Lag(member, on)
	})
	post("depose", func(q url.Values) error {
		member, err := parseMember(cmp.Or(q.Get("server"), s.anyFollower()), len(s.members))
		if err != nil {
			return err
		}
		return s.Depose(member)
	})
	post("notice", func(url.Values) error { s.Notice(); return nil })
	post("quorum", func(q url.Values) error {
		on, err := parseSwitch(q)
		switch {
		case err != nil:
			return err
		case on:
			s.RegainQuorum()
		default:
			s.LoseQuorum()
		}
		return nil
	})
	post("clock", func(q url.Values) error {
		d, err := time.ParseDuration(q.Get("advance"))
		if err != nil || d < 0 || d > advanceMax {
			return fmt.Errorf("advance: %q is not a duration from 0 to %v, such as 10s", q.Get("advance"), advanceMax)
		}
		s.Advance(d)
		return nil
	})
	s.show(mux)
	return webpage.OwnOnly(mux)
}

// show adds what is asked and changes nothing.
func (s *Server) show(mux *http.ServeMux) {
	list := func(name string, of func(e *fakezk.Ensemble, q url.Values) any) {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			var list any
			s.Inspect(func(e *fakezk.Ensemble) { list = of(e, r.URL.Query()) })
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(list)
		})
	}
	list("sessions", func(e *fakezk.Ensemble, _ url.Values) any { return listSessions(e) })
	list("tree", func(e *fakezk.Ensemble, q url.Values) any { return listTree(e, cmp.Or(q.Get("path"), "/")) })
	mux.HandleFunc("GET /commands", listCommands)
	mux.HandleFunc("GET /commands/{$}", listCommands)
	mux.HandleFunc("GET /commands/{name}", s.command)
}

// advanceMax bounds how far the clock is moved at once.
const advanceMax = 365 * 24 * time.Hour

func answer(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, ErrNoSession):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
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
