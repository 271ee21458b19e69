package fakezk_test

import (
	"errors"
	"testing"

	"github.com/zktorture/zktorture/fakezk"
)

// TestReadOnlySessions: a reader's session is its server's alone, runs out there though there is no quorum, and is no
// session of the ensemble's. (testdata/raw/readonly.txt in package conformance has what a real server answers.)
func TestReadOnlySessions(t *testing.T) {
	e := fakezk.New(fakezk.Config{Replicas: 3, Tick: 100, ReadOnly: true})
	e.LoseQuorum()
	reader := fakezk.ConnectRequest{Timeout: 1000, ReadOnly: true}
	id, granted, err := e.Connect(0, 1, reader)
	if err != nil || !granted.ReadOnly || granted.SessionID == 0 {
		t.Fatalf("%+v, %v, want a session at a read-only server", granted, err)
	}
	if e.Alive(granted.SessionID) {
		t.Error("the ensemble knows the session")
	}
	reader.SessionID, reader.Password = granted.SessionID, granted.Password
	if _, elsewhere, err := e.Connect(0, 2, reader); err != nil || elsewhere.SessionID != 0 {
		t.Errorf("another server knows the session: %+v, %v", elsewhere, err)
	}
	e.Touch(500, granted.SessionID)
	e.Tick(1400)
	if e.Pending(id) != 0 {
		t.Error("the session ran out before its time")
	}
	e.Tick(1600)
	if m, ok := e.Next(id); !ok || !m.Closed {
		t.Errorf("%+v, %v, want the end of the connection", m, ok)
	}
	if _, again, err := e.Connect(1600, 1, reader); err != nil || again.SessionID != 0 {
		t.Errorf("the session lives on: %+v, %v", again, err)
	}
}

// TestNotReadOnly: without the knob nobody is served, and whoever wants to write neither.
func TestNotReadOnly(t *testing.T) {
	for _, x := range []struct{ server, client bool }{{false, true}, {true, false}} {
		e := fakezk.New(fakezk.Config{Replicas: 3, ReadOnly: x.server})
		e.LoseQuorum()
		if _, granted, err := e.Connect(0, 0, fakezk.ConnectRequest{ReadOnly: x.client}); !errors.Is(err, fakezk.ErrNoQuorum) {
			t.Errorf("server %v, client %v: %+v, %v, want ErrNoQuorum", x.server, x.client, granted, err)
		}
	}
}
