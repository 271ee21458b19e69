package server_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// copied is what a SIGKILL at this moment leaves of a folder.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func tree(s *server.Server) (paths []string) {
	s.Inspect(func(e *fakezk.Ensemble) {
		e.Walk("/", func(path string, n fakezk.NodeInfo) { paths = append(paths, path+" "+string(n.Data)) })
	})
	return paths
}

// Answered writes survive the server, however it ended: znodes, sessions with their ephemerals, counters.
func TestDataOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	first := fakezktest.Start(t, server.Config{Data: dir})
	c := dialRaw(t, first.Addr(0), wire.ConnectResponse{})
	create := func(c *raw, xid int32, path string, flags int32) string {
		var made wire.PathReply
		body := &wire.CreateRequest{Path: path, Data: []byte("x"), ACL: open, Flags: flags}
		c.send(&wire.RequestHeader{Xid: xid, Op: wire.OpCreate}, body)
		c.receive(&wire.ReplyHeader{}, &made)
		return made.Path
	}
	for i := range int32(3) {
		create(c, i, "/n-", zk.FlagSequence)
	}
	create(c, 3, "/e", zk.FlagEphemeral)
	killed := copied(t, dir)
	log, err := os.OpenFile(filepath.Join(killed, "log.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.WriteString(`{"zxid":6,"edi`); err != nil { // it was being written
		t.Fatal(err)
	}
	log.Close()
	for range 2 { // from snapshot and log; then from a snapshot
		second := fakezktest.Start(t, server.Config{Data: killed})
		if d := cmp.Diff(tree(first), tree(second)); d != "" {
			t.Fatalf("-was +is: %s", d)
		}
		again := dialRaw(t, second.Addr(0), c.granted)
		if again.granted.Session != c.granted.Session {
			t.Errorf("the session has not outlived its server: %+v", again.granted)
		}
		if other := dialRaw(t, second.Addr(0), wire.ConnectResponse{}); other.granted.Session == c.granted.Session {
			t.Error("a new session has an old one's id")
		}
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	}
	third := fakezktest.Start(t, server.Config{Data: killed})
	last := dialRaw(t, third.Addr(0), wire.ConnectResponse{})
	if path := create(last, 1, "/n-", zk.FlagSequence); path != "/n-0000000004" {
		t.Errorf("%s: numbers are given out twice, or left out", path)
	}
}

// Two servers do not write into one folder, and files that no server has written are refused with their place.
func TestDataIsRefused(t *testing.T) {
	dir := t.TempDir()
	first := fakezktest.Start(t, server.Config{Data: dir})
	dialRaw(t, first.Addr(0), wire.ConnectResponse{})
	_, err := server.New(server.Config{Data: dir})
	if err == nil || !strings.Contains(err.Error(), "another server uses this folder") {
		t.Error(err)
	}
	for _, test := range []struct{ file, text, says string }{
		{"log.jsonl", "no JSON\n", "log.jsonl, line 1: "},
		{"log.jsonl", `{"zxid":1}` + "\n" + `{"zxid":7}` + "\n", "log.jsonl, line 2: fakezk: it does not fit"},
		{"snapshot.jsonl", `{"nodes":1}` + "\n", "snapshot.jsonl, line 1: fakezk: it does not fit: znode 1"},
	} {
		bad := t.TempDir()
		if err := os.WriteFile(filepath.Join(bad, test.file), []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := server.New(server.Config{Data: bad}); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v, want %s", err, test.says)
		}
	}
	if _, err := server.New(server.Config{Data: filepath.Join(dir, "log.jsonl")}); err == nil {
		t.Error("a file is taken for a folder")
	}
}

// What cannot be kept is not answered: the server ends, and says why.
func TestDataCannotBeWritten(t *testing.T) {
	s, err := server.New(server.Config{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(0, "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	c := dialRaw(t, s.Addr(0), wire.ConnectResponse{})
	s.BreakData()
	c.send(&wire.RequestHeader{Xid: 1, Op: wire.OpCreate}, &wire.CreateRequest{Path: "/a", ACL: open})
	if _, err := wire.ReadFrame(c.net, nil, wire.FrameMax); err == nil {
		t.Error("what is not kept is answered")
	}
	<-s.Done()
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "log.jsonl") {
		t.Error(err)
	}
}

// After a write that failed nothing is written: a transaction would be missing between others.
func TestDataEndsAtTheFailure(t *testing.T) {
	dir := t.TempDir()
	s, err := server.New(server.Config{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	create := func(path string) {
		s.Inspect(func(e *fakezk.Ensemble) { e.Admin(0, &fakezk.Request{Op: wire.OpCreate, Path: path, ACL: open}) })
	}
	create("/kept")
	s.BreakData()
	create("/lost")
	if err := s.MendData(); err != nil {
		t.Fatal(err)
	}
	create("/late")
	s.Close()
	if again := tree(fakezktest.Start(t, server.Config{Data: dir})); !slices.Contains(again, "/kept ") {
		t.Errorf("%q", again)
	}
}

// keep runs a server on a folder until it has taken some writes.
func keep(t *testing.T, dir string) {
	t.Helper()
	s, err := server.New(server.Config{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	s.Inspect(func(e *fakezk.Ensemble) {
		for _, path := range []string{"/a", "/b", "/a/c"} {
			e.Admin(1, &fakezk.Request{Op: wire.OpCreate, Path: path, Data: []byte("data of " + path), ACL: open})
		}
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A bit that has flipped in a record is found, wherever it is, and the server says in which line.
func TestFlippedBits(t *testing.T) {
	dir := t.TempDir()
	keep(t, dir)
	keep(t, dir) // now there is something in the snapshot, too
	for _, name := range []string{"snapshot.jsonl", "log.jsonl"} {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		at := copied(t, dir)
		for bit := 0; bit < 8*len(whole); bit += 29 {
			flipped := slices.Clone(whole)
			flipped[bit/8] ^= 1 << (bit % 8)
			if bit/8 == len(whole)-1 && name == "log.jsonl" {
				break // the end of the last line: see TestDataOutlivesTheServer
			}
			if err := os.WriteFile(filepath.Join(at, name), flipped, 0o644); err != nil {
				t.Fatal(err)
			}
			line := 1 + bytes.Count(whole[:bit/8], []byte("\n"))
			_, err := server.New(server.Config{Data: at})
			if want := fmt.Sprintf("%s, line %d: ", name, line); err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("bit %d of %s: %v, want %q", bit, name, err, want)
			}
		}
	}
}

// A folder of a server that kept no checksums is read.
func TestDataWithoutChecksums(t *testing.T) {
	dir := t.TempDir()
	keep(t, dir)
	sum := regexp.MustCompile(`,"crc32c":"[0-9a-f]{8}"`)
	old := copied(t, dir)
	for _, name := range []string{"snapshot.jsonl", "log.jsonl"} {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(old, name), sum.ReplaceAll(whole, nil), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(whole, []byte("\n")); len(sum.FindAll(whole, -1)) != lines {
			t.Errorf("%s has not a checksum in each of its %d lines:\n%s", name, lines, whole)
		}
	}
	if d := cmp.Diff(tree(fakezktest.Start(t, server.Config{Data: dir})), tree(fakezktest.Start(t, server.Config{Data: old}))); d != "" {
		t.Errorf("-with +without: %s", d)
	}
}
