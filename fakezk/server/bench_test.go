package server_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/live/ensemble"
)

// quick lets Apache's server have what makes it quick in the long run, where [ensemble.Options] prefer a quick start:
// the compiler, memory and threads that are its defaults on this machine. It writes without fsync all the same.
func quick() []string {
	cores := runtime.NumCPU()
	return []string{
		"-Xmx1g", "-Xms256m", "-XX:TieredStopAtLevel=4", "-XX:ReservedCodeCacheSize=240m",
		fmt.Sprintf("-Dzookeeper.nio.numWorkerThreads=%d", 2*cores),
		fmt.Sprintf("-Dzookeeper.commitProcessor.numWorkerThreads=%d", cores),
	}
}

// warmUp is how many requests of each kind are not measured.
const warmUp = 20_000

// BenchmarkBesideApache measures one go-zookeeper client with 1 and 32 requests at a time, here and on Apache's server.
func BenchmarkBesideApache(b *testing.B) {
	real_, err := ensemble.Start(b.Context(), ensemble.Options{JVM: quick()})
	if err != nil {
		b.Fatal(err)
	}
	defer real_.Stop()
	fake := fakezktest.Start(b, server.Config{})
	for _, at := range []struct{ name, address string }{{"apache", real_.ConnectString()}, {"fake", fake.Addr(0)}} {
		c, _ := connect(b, at.address, lasting)
		for _, under := range []int{1, 32} {
			b.Run(fmt.Sprintf("get/%d/%s", under, at.name), func(b *testing.B) {
				parallel(b, under, func() error { _, _, err := c.Get("/"); return err })
			})
			b.Run(fmt.Sprintf("create/%d/%s", under, at.name), func(b *testing.B) {
				const flags = zk.FlagEphemeral | zk.FlagSequence
				parallel(b, under, func() error { _, err := c.Create("/c-", nil, flags, open); return err })
			})
		}
	}
}

// parallel carries out b.N operations, under at a time.
func parallel(b *testing.B, under int, do func() error) {
	if b.N == 1 { // the first of the trials that find out b.N
		carryOut(b, warmUp, 32, do)
	}
	b.ResetTimer()
	carryOut(b, b.N, under, do)
}

func carryOut(b *testing.B, times, under int, do func() error) {
	failed := make(chan error, under)
	for i := range under {
		go func() {
			for n := i; n < times; n += under {
				if err := do(); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range under {
		if err := <-failed; err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSessions measures what 10,000 sessions with a watch each take.
func BenchmarkSessions(b *testing.B) {
	for b.Loop() {
		s := fakezktest.Start(b, server.Config{})
		before := heap()
		var clients []*rawClient
		for range 10_000 {
			c, err := dialPipe(s)
			if err != nil {
				b.Fatal(err)
			}
			clients = append(clients, c)
		}
		b.ReportMetric(float64(heap()-before)/1e6, "MB")
		runtime.KeepAlive(clients)
	}
}

// BenchmarkZnodes measures what a million znodes take.
func BenchmarkZnodes(b *testing.B) {
	for b.Loop() {
		s := fakezktest.Start(b, server.Config{})
		before := heap()
		s.Inspect(fill)
		b.ReportMetric(float64(heap()-before)/1e6, "MB")
		runtime.KeepAlive(s)
	}
}

// heap is the memory in use, once what benchmarks before have left is gone.
func heap() int64 {
	for last := inUse(); ; {
		now := inUse()
		if max(last-now, now-last) < 1e6 {
			return now
		}
		last = now
	}
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
