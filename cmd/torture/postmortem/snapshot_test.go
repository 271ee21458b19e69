package postmortem

import (
	"hash/adler32"
	"os"
	"path/filepath"
	"testing"
)

// snapshot is one of a session with an ephemeral znode that was made at a zxid.
func snapshot(session, zxid int64) []byte {
	znode := func(path string, owner int64) []byte {
		return jute(path, "data", int64(1), zxid, zxid, int64(9), int64(9), int32(0), int32(0), int32(0), owner, zxid)
	}
	text := jute(int32(snapshotMagic), int32(2), int64(-1),
		int32(1), session, int32(4000), // a session
		int32(1), int64(1), int32(1), int32(31), "world", "anyone") // a list of permissions
	for _, next := range [][]byte{znode("", 0), znode("/l", 0), znode("/l/x-0000000001", session), jute("/")} {
		text = append(text, next...)
	}
	return append(text, jute(int64(adler32.Checksum(text)), "/")...)
}

// A snapshot is read to its end, and is refused wherever it is cut off.
func TestSnapshot(t *testing.T) {
	text := snapshot(7, 5)
	name := filepath.Join(t.TempDir(), "snapshot.5")
	end := len(text) - len("/") - 4 // what follows the checksum is not read
	for n := headerLength; n <= end; n++ {
		if err := os.WriteFile(name, text[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		sessions, znodes := 0, 0
		err := readSnapshot(name, func(int64) { sessions++ }, func(path string, owner, czxid, ctime int64) {
			znodes++
			if path != "/l/x-0000000001" || owner != 7 || czxid != 5 || ctime != 9 {
				t.Errorf("%s of session %d, made at %d, %d", path, owner, czxid, ctime)
			}
		})
		if n == end {
			text[60]++
			if damaged := os.WriteFile(name, text, 0o644); damaged != nil || readSnapshot(name, func(int64) {}, func(string, int64, int64, int64) {}) == nil {
				t.Error("a damaged snapshot is read, ", damaged)
			}
		}
		if (err == nil) != (n == end) || err == nil && (sessions != 1 || znodes != 1) {
			t.Errorf("%d of %d bytes: %v, %d sessions, %d ephemeral znodes", n, len(text), err, sessions, znodes)
		}
	}
}
