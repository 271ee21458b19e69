package ensemble_test

import (
	"cmp"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/zkclient"
)

// reads is what a reader saw while another client wrote.
type reads struct {
	stale, fresh int
	oldest       time.Duration // the oldest value it read had been superseded for so long
}

// read reads for a while by one member what is written by another. A read is stale if a later value had been written,
// and the writer had been told so, before the read began, or the sync before it. The error is the first of a request.
func read(writer, reader *zkclient.Client, path string, sync bool, n int) (seen reads, err error) {
	var written atomic.Int64 // the last value of which the writer knows that it was written
	superseded := make([]atomic.Int64, 1<<16)
	began, stop, stopped := time.Now(), make(chan struct{}), make(chan error, 1)
	go func() {
		for value := int64(1); value < int64(len(superseded)); value++ {
			if _, err := writer.Set(path, []byte(strconv.FormatInt(value, 10)), -1); err != nil {
				stopped <- err
				return
			}
			superseded[value-1].Store(int64(time.Since(began)))
			written.Store(value)
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
		}
		stopped <- fmt.Errorf("more than %d values", len(superseded))
	}()
	for i := 0; i < n && err == nil; i++ {
		before := time.Since(began)
		atLeast := written.Load()
		if sync {
			_, err = reader.Sync(path)
		}
		var data []byte
		if err == nil {
			data, _, err = reader.Get(path)
		}
		if value, _ := strconv.ParseInt(string(data), 10, 64); err == nil && value >= atLeast {
			seen.fresh++
		} else if err == nil {
			seen.stale++
			seen.oldest = max(seen.oldest, before-time.Duration(superseded[value].Load()))
		}
	}
	close(stop)
	return seen, cmp.Or(err, <-stopped)
}

// mustRead is read where no request may fail.
func mustRead(t *testing.T, writer, reader *zkclient.Client, path string, sync bool, n int) reads {
	t.Helper()
	seen, err := read(writer, reader, path, sync, n)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// A member that lags serves what was true a while ago, and that without any error: its client keeps its session, and
// its connection. What it has written itself, or has synced, it sees.
func TestLag(t *testing.T) {
	e := start(t, ensemble.Options{Nodes: 3, SyncLimit: 50})
	leader, err := e.WaitLeader(testkit.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	const delay = 200 * time.Millisecond
	struck := hurt(t, e, lag(ensemble.Follower, 200))
	writer, reader := session(t, e.Servers()[leader]), session(t, e.Servers()[struck.Member])
	if _, err := writer.Create("/register", []byte("0"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Sync("/register"); err != nil {
		t.Fatal(err)
	}
	const n = 1000
	seen := mustRead(t, writer, reader, "/register", false, n)
	t.Logf("of %d reads %d were stale, by up to %v", n, seen.stale, seen.oldest)
	if seen.stale < n/10 || seen.oldest < delay/2 {
		t.Errorf("of %d reads %d were stale, by up to %v; want most, by up to %v", n, seen.stale, seen.oldest, delay)
	}
	synced := mustRead(t, writer, reader, "/register", true, 5)
	if synced.stale != 0 {
		t.Errorf("with a sync before: %+v", synced)
	}
	wantNoStrike(t, e, lag(ensemble.Target(struck.Member), 50), "lags already")
	wantNoStrike(t, e, lag(ensemble.Target(leader), 50), "it is the leader")
	wantNoStrike(t, e, lag(ensemble.Follower, 0), "at least 1 ms")
	wantError(t, e.Lag(struck.Member, 5*time.Second), "less than 5s", "SyncLimit")
	wantError(t, e.Lag(3, delay), "no member 3")
	if err := struck.Undo(); err != nil {
		t.Error(err)
	}
	for _, heal := range []func(*ensemble.Struck){
		func(struck *ensemble.Struck) { must(t, struck.Undo()) },
		func(*ensemble.Struck) { wantWell(t, e) },
	} {
		heal(hurt(t, e, lag(ensemble.Target(struck.Member), 4500)))
		wantFresh(t, writer, reader, 4500*time.Millisecond)
	}
}

// wantFresh checks that reads are not stale by as much as a lag would make them. A little they may be without any
// fault.
func wantFresh(t *testing.T, writer, reader *zkclient.Client, lag time.Duration) {
	t.Helper()
	seen := mustRead(t, writer, reader, "/register", false, 1000)
	t.Logf("healed: %d reads were stale, by up to %v", seen.stale, seen.oldest)
	if seen.oldest > lag/2 {
		t.Errorf("after healing reads are stale by up to %v", seen.oldest)
	}
}
