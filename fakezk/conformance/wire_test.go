package conformance_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
)

// Both sides get the same bytes of three clients: all operations, well and badly made, pipelined, on connections that
// come and go. They must send the same bytes back, but for what two servers may choose: the ids, passwords and
// times of sessions, and orders that ZooKeeper leaves open. ZKTORTURE_WIRE is how many requests there are,
// ZKTORTURE_WIRE_SEED which.
func TestWire(t *testing.T) {
	testkit.NeedServers(t)
	requests, seed := numberFrom(t, "ZKTORTURE_WIRE", testkit.Sized[uint64](12_000, 20_000)), numberFrom(t, "ZKTORTURE_WIRE_SEED", 1)
	sides := newWireSides(t, patience)
	began, done := time.Now(), uint64(0)
	for number := uint64(0); done < requests; number++ {
		steps := drawEpisode(seed, number, 200)
		if d := difference(t, sides, steps); d != "" {
			t.Fatalf("seed %d, episode %d, after %d requests: the servers differ:\n%s",
				seed, number, done, cmp.Or(smallest(t, steps), d))
		}
		for _, step := range steps {
			done += uint64(step.requests())
		}
	}
	sides[0].tally.log(t)
	t.Logf("%d requests of seed %d: 0 disagreements, %.0f requests a second", done, seed,
		float64(done)/time.Since(began).Seconds())
}

// log tells what the real server has answered.
func (tally *wireTally) log(t *testing.T) {
	for _, op := range slices.Sorted(maps.Keys(tally.answered)) {
		t.Logf("%v: %d replies, %d errors", op, tally.answered[op], tally.failed[op])
	}
	t.Logf("%d events, %d ends of a connection", tally.events, tally.ended)
}

func numberFrom(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s is no number: %v", name, err)
	}
	return n
}

// newWireSides starts a real server and the fake behind a port.
func newWireSides(t *testing.T, patience time.Duration) [2]*wirePlayer {
	with := setups["wire"]
	fake := fakezktest.Start(t, server.Config{Ensemble: with.fake()})
	var sides [2]*wirePlayer
	for i, address := range []string{startReal(t, with).Servers()[0], fake.Addr(0)} {
		tally := &wireTally{answered: map[wire.Op]int{}, failed: map[wire.Op]int{}}
		sides[i] = &wirePlayer{address: address, patience: patience, tally: tally}
	}
	return sides
}

// difference plays an episode on both sides. It returns "" if they do the same.
func difference(t *testing.T, sides [2]*wirePlayer, steps []wireStep) string {
	t.Helper()
	var seen [2][][]wireMessage
	errs := make(chan error, 1)
	var err error
	go func() {
		var err error
		seen[0], err = sides[0].play(steps)
		errs <- err
	}()
	seen[1], err = sides[1].play(steps)
	if realErr := <-errs; realErr != nil || err != nil {
		return fmt.Sprintf("the real server: %v; the fake: %v; in\n%v", realErr, err, steps)
	}
	for i := range seen[0] {
		if !reflect.DeepEqual(seen[0][i], seen[1][i]) {
			return tell(steps[:min(i+1, len(steps))], seen[0][:i+1]) + "  the fake\n" + list(seen[1][i])
		}
	}
	return ""
}

func tell(steps []wireStep, seen [][]wireMessage) string {
	var b strings.Builder
	for i, messages := range seen {
		if i < len(steps) {
			fmt.Fprintf(&b, "%d: %v\n", i, steps[i])
		} else {
			b.WriteString("at the end\n")
		}
		b.WriteString(list(messages))
	}
	return b.String()
}

func list(messages []wireMessage) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "    %v\n", m)
	}
	return b.String()
}

// smallest leaves requests out, as long as the servers differ, and returns the last difference; "" if new servers do
// not differ, because what came before matters. They are new ones whenever they do not agree any more.
func smallest(t *testing.T, steps []wireStep) string {
	const impatience = 3 * time.Second // with servers that may differ by saying nothing
	sides, last := newWireSides(t, impatience), ""
	differ := func(steps []wireStep) bool {
		d := difference(t, sides, steps)
		if d != "" && difference(t, sides, nil) != "" {
			sides = newWireSides(t, impatience)
		}
		last = cmp.Or(d, last)
		return d != ""
	}
	if !differ(steps) {
		return ""
	}
	for size := len(units(steps)); size >= 1; size /= 2 {
		for at := 0; at+size <= len(units(steps)); {
			if fewer := without(steps, at, size); differ(fewer) {
				steps = fewer
			} else {
				at += size
			}
		}
	}
	return last
}

// unit is a request, or a step without requests.
type unit struct{ step, frame int }

func units(steps []wireStep) (all []unit) {
	for i, step := range steps {
		for j := range step.requests() {
			all = append(all, unit{i, j})
		}
	}
	return all
}

// without leaves out size units from one on.
func without(steps []wireStep, at, size int) (fewer []wireStep) {
	gone := map[unit]bool{}
	for _, u := range units(steps)[at : at+size] {
		gone[u] = true
	}
	for i, step := range steps {
		var frames []wireFrame
		for j, f := range step.frames {
			if !gone[unit{i, j}] {
				frames = append(frames, f)
			}
		}
		if len(frames) > 0 || step.do != doSend && !gone[unit{i, 0}] {
			step.frames = frames
			fewer = append(fewer, step)
		}
	}
	return fewer
}
