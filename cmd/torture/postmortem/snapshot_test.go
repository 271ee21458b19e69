package postmortem

import (
	"os"
	"path/filepath"
	"testing"
)

// A snapshot is read to its end, and is refused wherever it is cut off.
func TestSnapshot(t *testing.T) {
	znode := func(path string, owner int64) []byte {
		return jute(path, "data", int64(1), int64(5), int64(5), int64(9), int64(9), int32(0), int32(0), int32(0), owner, int64(5))
	}
	text := jute(int32(snapshotMagic), int32(2), int64(-1),
		int32(1), int64(7), int32(4000), // a session
		int32(1), int64(1), int32(1), int32(31), "world", "anyone") // a list of permissions
	for _, next := range [][]byte{znode("", 0), znode("/l", 0), znode("/l/x-0000000001", 7), jute("/")} {
		text = append(text, next...)
	}
	name := filepath.Join(t.TempDir(), "snapshot.5")
	for n := headerLength; n <= len(text); n++ {
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
		if (err == nil) != (n == len(text)) || err == nil && (sessions != 1 || znodes != 1) {
			t.Errorf("%d of %d bytes: %v, %d sessions, %d ephemeral znodes", n, len(text), err, sessions, znodes)
		}
	}
}
