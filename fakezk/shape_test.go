package fakezk_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// shaped builds servers with three sessions and returns the shape of what they have done below /t. A line of what is the
// number of a session and an operation: c creates an ephemeral znode, s a sequential one, d deletes, w and l watch a znode's
// data and children.
func shaped(t *testing.T, replicas int, what ...string) uint64 {
	t.Helper()
	e := fakezk.New(fakezk.Config{Replicas: replicas})
	var conns [3]fakezk.ConnID
	dead := int64(0)
	for i := range conns {
		id, answer, err := e.Connect(0, i%replicas, fakezk.ConnectRequest{Timeout: 4000})
		if err != nil {
			t.Fatal(err)
		}
		conns[i], dead = id, answer.SessionID
	}
	request := func(id fakezk.ConnID, r fakezk.Request) {
		r.ACL, r.Version = zk.WorldACL(zk.PermAll), -1
		e.Request(0, id, &r)
	}
	request(conns[0], fakezk.Request{Op: wire.OpCreate, Path: "/t"})
	for _, line := range what {
		id, path := conns[line[0]-'0'], "/t"+line[2:]
		request(id, map[byte]fakezk.Request{
			'c': {Op: wire.OpCreate, Path: path, Flags: zk.FlagEphemeral},
			's': {Op: wire.OpCreate, Path: path, Flags: zk.FlagEphemeral | zk.FlagSequence},
			'd': {Op: wire.OpDelete, Path: path},
			'w': {Op: wire.OpExists, Path: path, Watch: true},
			'l': {Op: wire.OpGetChildren2, Path: path, Watch: true},
		}[line[1]])
	}
	return e.Shape("/t", func(session int64) bool { return session != dead })
}

// Shapes are equal where names, numbers, sessions and servers differ, and nothing else.
func TestShape(t *testing.T) {
	const a, b = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	base := []string{"0s/_c_" + a + "-lock-", "1s/_c_" + b + "-lock-", "1w/_c_" + a + "-lock-0000000000"}
	want := shaped(t, 1, base...)
	for name, same := range map[string]uint64{
		"identities": shaped(t, 1, "0s/_c_"+b+"-lock-", "1s/_c_"+a+"-lock-", "1w/_c_"+b+"-lock-0000000000"),
		"sessions":   shaped(t, 1, "1s/_c_"+a+"-lock-", "0s/_c_"+b+"-lock-", "0w/_c_"+a+"-lock-0000000000"),
		"numbers":    shaped(t, 1, "0s/lock-", "0d/lock-0000000000", "0s/_c_"+a+"-lock-", "1s/_c_"+b+"-lock-", "1w/_c_"+a+"-lock-0000000001"),
		"servers":    shaped(t, 3, base...),
	} {
		if same != want {
			t.Errorf("other %s have another shape", name)
		}
	}
	for name, other := range map[string]uint64{
		"one znode less":      shaped(t, 1, base[0]),
		"no watch":            shaped(t, 1, base[:2]...),
		"another's watch":     shaped(t, 1, base[0], base[1], "0w/_c_"+a+"-lock-0000000000"),
		"another znode's":     shaped(t, 1, base[0], base[1], "1w/_c_"+b+"-lock-0000000001"),
		"a missing znode's":   shaped(t, 1, append(base, "1w/none")...),
		"a watch of children": shaped(t, 1, base[0], base[1], "1l/_c_"+a+"-lock-0000000000"),
		"one owner":           shaped(t, 1, "0s/_c_"+a+"-lock-", "0s/_c_"+b+"-lock-", base[2]),
		"a dead owner":        shaped(t, 1, "2s/_c_"+a+"-lock-", base[1], base[2]),
		"another word":        shaped(t, 1, base[0], "1s/_c_"+b+"-read-", base[2]),
		"nothing":             0,
	} {
		if other == want {
			t.Errorf("%s is the same shape", name)
		}
	}
}

// Of names without numbers and with equal words the older comes first.
func TestShapeOfUnnumbered(t *testing.T) {
	if shaped(t, 1, "0c/claim-b", "1c/claim-a", "1w/claim-b") == shaped(t, 1, "0c/claim-b", "1c/claim-a", "1w/claim-a") {
		t.Error("a watch on the older is one on the younger")
	}
	const a, b = "/claim-0123456789abcdef0", "/claim-00000000000000000"
	if shaped(t, 1, "0c"+a, "1c"+b, "1w"+a) != shaped(t, 1, "0c"+b, "1c"+a, "1w"+b) {
		t.Error("identities matter")
	}
}
