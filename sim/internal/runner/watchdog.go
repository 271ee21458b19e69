package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zktorture/zktorture/internal/resource"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/world"
)

// Watchdog sees from outside whether the world of one worker still turns.
type Watchdog struct {
	world.Blind
	beats atomic.Int64
	busy  atomic.Bool
	late  atomic.Bool                 // the world has to give its episode up
	tape  atomic.Pointer[bubble.Tape] // of its world, in exact mode

	// Of the goroutine that calls frozen.
	seen  int64         // beats at the last call that saw a new one …
	since time.Time     // … when that was …
	spent time.Duration // … and how much processor time the process had had
	look  time.Duration // after how long standing still it is looked whether somebody dials
}

// FreezeAfter is how long a world may stand still before it counts as frozen. A step takes microseconds. So that a
// crowded machine freezes no worlds, the process must have had that much processor time too, unless no goroutine in
// the bubbles wants any.
var FreezeAfter = 5 * time.Second

// Turns shows that the world turns, and gives the run up when it has to be.
func (d *Watchdog) Turns(*world.World) {
	if d.beat(); d.late.Load() {
		world.GiveUp(ErrInterrupted)
	}
}

func (d *Watchdog) beat()  { d.beats.Add(1) }
func (d *Watchdog) start() { d.beat(); d.busy.Store(true) }
func (d *Watchdog) stop()  { d.busy.Store(false) }

// frozen is called by one goroutine, again and again.
func (d *Watchdog) frozen() bool {
	now, spent := time.Now(), resource.CPUTime()
	if beats := d.beats.Load(); beats != d.seen || !d.busy.Load() || d.since.IsZero() {
		d.seen, d.since, d.spent, d.look = beats, now, spent, dialAfter
		return false
	}
	if now.Sub(d.since) <= FreezeAfter {
		return false
	}
	return spent-d.spent > FreezeAfter || WorldStands()
}

// dialAfter is how long a world stands still before it is looked for the first time whether its code waits for the
// network: then after twice as long, and so on, as that takes long where there are many goroutines.
const dialAfter = 250 * time.Millisecond

// standstill says why the world stands still, "" if it does not.
func (d *Watchdog) standstill() (why string) {
	frozen := d.frozen()
	if stood := time.Since(d.since); d.busy.Load() && stood >= d.look {
		d.look = 2 * stood
		why = dialsForReal()
	}
	if frozen && why == "" {
		why = describeFreeze()
	}
	return why
}

// When a context ends, episodes that are under way may end within grace; then they are given up, and those that cannot
// be are left behind after as long again.
const grace = 500 * time.Millisecond

// progressEvery is how often progress is told.
const progressEvery = 100 * time.Millisecond

// ErrInterrupted is why an episode is given up when the context has ended.
var ErrInterrupted = errors.New("interrupted")

// Guard runs work with n watchdogs at the same time, watches them, and calls tick ten times a second. If a world stands
// still, also when the context has ended, it calls halt, and leaves that world behind; if testing ends a worker the others go
// on. It returns why a part of the work was left undone, or "".
func Guard(ctx context.Context, n int, work func(*Watchdog), tick, halt func()) (undone string) {
	dogs := make([]*Watchdog, n)
	var workers sync.WaitGroup
	var cut atomic.Bool
	for i := range dogs {
		dogs[i] = &Watchdog{}
		workers.Go(func() { dogs[i].attend(work, &cut) })
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	if frozen := watch(ctx, done, tick, dogs); frozen != "" {
		halt()
		for _, dog := range dogs {
			dog.abandon()
		}
		return frozen
	}
	if cut.Load() {
		return EpisodeCut
	}
	return ""
}

// attend runs work, and notes if testing cuts it off: then its world has ended.
func (d *Watchdog) attend(work func(*Watchdog), cut *atomic.Bool) {
	returned := false
	defer func() {
		if !returned {
			d.stop()
			d.abandon()
			cut.Store(true)
		}
	}()
	work(d)
	returned = true
}

// watch waits until done is closed, or a world stands still, of which it returns why.
func watch(ctx context.Context, done <-chan struct{}, tick func(), dogs []*Watchdog) (frozen string) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	interrupted := ctx.Done()
	var over <-chan time.Time
	for {
		select {
		case <-done:
			return ""
		case <-interrupted:
			interrupted, over = nil, time.After(grace)
		case <-over:
			if dogs[0].late.Load() {
				return "interrupted: " + standsAt()
			}
			for _, dog := range dogs {
				dog.late.Store(true)
			}
			over = time.After(grace)
		case <-ticker.C:
			tick()
			for _, dog := range dogs {
				if why := dog.standstill(); why != "" {
					return why
				}
			}
		}
	}
}

// EpisodeCut says that an episode was lost with its goroutine: testing ends that after a report of the race detector.
const EpisodeCut = "an episode was ended in its middle: read what the race detector has reported"

// ErrFrozen is the error of an episode whose world stood still.
var ErrFrozen = errors.New("sim: the simulated world makes no progress")

// Undone is the error of work that [Guard] has left undone.
func Undone(why string) error {
	if why == EpisodeCut {
		return errors.New(why)
	}
	return fmt.Errorf("%w: %s", ErrFrozen, why)
}

// WorldStands reports whether there is a world in which no goroutine has, or waits for, a processor.
func WorldStands() bool {
	world := false
	for _, stack := range bubble.AllStacks(bubble.EveryStackBytesMax) {
		if stack.Bubble() == 0 {
			continue
		}
		if head, _, _ := strings.Cut(string(stack), "\n"); strings.Contains(head, "[run") { // running or runnable
			return false
		}
		world = world || stack.Loops()
	}
	return world
}
