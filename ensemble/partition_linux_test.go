package ensemble_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/ensemble"
	"github.com/zktorture/zktorture/ensemble/netns"
)

func startApart(t *testing.T, options ensemble.Options) *ensemble.Ensemble {
	t.Helper()
	needsServers(t)
	if err := netns.Allowed(); err != nil {
		t.Skip(err)
	}
	options.Namespaces = true
	return start(t, options)
}

// leaderOf returns the leader and the others.
func leaderOf(t *testing.T, e *ensemble.Ensemble) (leader int, others []int) {
	t.Helper()
	leader, err := e.WaitLeader(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.Servers() {
		if i != leader {
			others = append(others, i)
		}
	}
	return leader, others
}

// Faults of links on one ensemble, each healed after.
func TestLinks(t *testing.T) {
	e := startApart(t, ensemble.Options{Nodes: 3, SyncLimit: 5})
	serves(t, e)
	for _, fault := range []string{"partition leader", "partition follower", "mute leader", "mute follower", "deaf follower"} {
		t.Run(fault, func(t *testing.T) { loseTouch(t, e, fault) })
	}
	t.Run("deaf leader", func(t *testing.T) { deafLeader(t, e) })
	t.Run("lossy leader", func(t *testing.T) { lossyLeader(t, e) })
	t.Run("stale reads", func(t *testing.T) { readsInAPartition(t, e) })
}

// loseTouch checks that who loses touch with the majority stops to serve after SyncLimit ticks, and nobody else.
func loseTouch(t *testing.T, e *ensemble.Ensemble, fault string) {
	struck := strike(t, e, fault)
	wantStruck(t, e, struck, string(fault[len(struck.Fault.Kind)+1:]))
	if _, runs := e.Member(struck.Member).Pid(); !runs {
		t.Error("its process has ended")
	}
	if err := struck.Undo(); err != nil {
		t.Error(err)
	}
	eventually(t, "it serves again", func() bool { return !silent(t, e, struck.Member) })
	wantWell(t, e)
}

// A leader that hears nobody stops to serve, but goes on to be elected by those who hear it, perhaps for long. Then there is no
// leader. Healing ends that.
func deafLeader(t *testing.T, e *ensemble.Ensemble) {
	struck := strike(t, e, "deaf leader")
	eventually(t, "it does not serve any more", func() bool { return silent(t, e, struck.Member) })
	wantWell(t, e)
}

// With a fifth of all packets lost the ensemble goes on.
func lossyLeader(t *testing.T, e *ensemble.Ensemble) {
	strike(t, e, "lossy leader 20%")
	client := session(t, e.ConnectString(), 2*time.Second)
	for range 20 {
		eventually(t, "the client can write", func() bool {
			_, err := client.Set("/", nil, -1)
			return err == nil
		})
	}
	wantWell(t, e)
}

// A follower that is cut off, but does not know it yet, serves what was true when it was cut off.
func readsInAPartition(t *testing.T, e *ensemble.Ensemble) {
	leader, others := leaderOf(t, e)
	writer, reader := session(t, e.Servers()[leader], 2*time.Second), session(t, e.Servers()[others[0]], 2*time.Second)
	if _, err := reader.Create("/register", []byte("0"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	heal, err := e.Cut(leader, others[0])
	if err != nil {
		t.Fatal(err)
	}
	const n = 50
	seen := read(t, writer, reader, "/register", false, n)
	heal()
	t.Logf("of %d reads %d were stale, by up to %v", n, seen.stale, seen.oldest)
	if seen.stale < n/2 {
		t.Errorf("of %d reads only %d were stale", n, seen.stale)
	}
	wantWell(t, e)
}

// Of five members two are on one side, with the leader, and three on the other, who elect another.
func TestPartitionOfFive(t *testing.T) {
	e := startApart(t, ensemble.Options{Nodes: 5, SyncLimit: 5})
	leader, others := leaderOf(t, e)
	minority := []int{leader, others[0]}
	heal, err := e.Partition(minority)
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range minority {
		eventually(t, "the minority does not serve any more", func() bool { return silent(t, e, member) })
	}
	if now, err := e.WaitLeader(deadline(t)); err != nil || now == leader || now == others[0] {
		t.Errorf("%d leads, %v; the minority is %v", now, err, minority)
	}
	heal()
	if err := e.WaitServing(deadline(t)); err != nil {
		t.Error(err)
	}
	wantWell(t, e)
}

func TestPartitionRefuses(t *testing.T) {
	e := startApart(t, ensemble.Options{})
	_, err := e.Partition([]int{0}, []int{1})
	wantError(t, err, "no member 1")
	_, err = e.Partition([]int{0, 0})
	wantError(t, err, "two groups")
	_, err = e.Cut(0, 0)
	wantError(t, err, "no link from member 0 to member 0")
	_, err = e.Lossy(0, -1, 0.5)
	wantError(t, err, "no link")
	wantNoStrike(t, e, "partition leader", "no other members")
}
