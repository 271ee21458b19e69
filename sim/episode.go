package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/digest"
)

// episodeConfig is what one run of an episode needs.
type episodeConfig struct {
	source   Source
	faults   Faults // allowed; the episode draws its own subset
	clients  int
	ops      int
	stepsMax int // of the torture phase
	servers  *fakezk.Ensemble
	made     []made     // memory to reuse, as is …
	memory   *memory    // … this, which is the next world's when the episode has been judged; nil for none
	trace    *[]Step    // where to keep a trace; nil for none
	ready    *readiness // who went on together; nil if nobody wants to know
	places   *places    // where requests were sent; nil if nobody wants to know
	audit    uint64     // if not 0: the seed with which a clean episode's history is corrupted
	witness  *witness   // notes what is seen; nil if nobody wants to know
	most     []int      // a run that costs as much is given up, see [size.cost]; nil for no bound
	events   bool       // whether to keep what happens
	dog      *watchdog  // sees from outside whether the world turns
	number   int        // of the episode, -1 for none
	search   *search    // that the run is one of; nil if it is on its own
	exact    bool       // what the runtime decides is drawn too; only in exact builds
}

// outcome is what came of an episode.
type outcome struct {
	Judgement
	sensitivity Sensitivity
	ops         []*Op
	made        []made
	choices     Choices
	struck      [faultCount]int
	size
	layout   []int  // users by client
	allowed  Faults // those that the episode was asked about
	events   []deed // of the torture phase, until the rest happened of itself …
	after    []deed // … and the rest
	steps    int
	hash     uint64
	aborted  any // what the source gave up with
	record   *Record
	bubble   int // its number, where somebody may want to know what is left in it: of runs with a trace, and over the wire
	wire     bool
	cutShort string // why all of the run was not judged: then it is no pass, also where that is waived
	outlive  bool   // goroutines may outlive the episode, see [World.outlived]
	leaked   bool   // goroutines have
	left     string // where, if that is not judged; "" if none
	outside  string // see [World.outsider]
}

// runEpisode runs one episode in a bubble of its own. If the bubble freezes it never returns, which the watchdog
// notices.
func runEpisode(workload Workload, cfg *episodeConfig) *outcome {
	o := &outcome{}
	if overWire(workload) {
		prepareNet()
	}
	cfg.dog.enter(cfg.exact)
	cfg.dog.start()
	defer cfg.dog.crash.begin(cfg.number)()
	o.leaked = inBubble(func() { newWorld(cfg).run(workload, o) })
	cfg.dog.leave()
	switch {
	case o.leaked && o.outlive:
		o.left = leftPlaces(o.bubble)
	case o.leaked && len(o.Violations) == 0 && o.outside == "" && o.aborted == nil:
		o.Violations = []Violation{{Property: "goroutine-leak", Message: describeLeak(o.bubble)}}
	}
	cfg.dog.stop() // what follows takes its time, and has limits of its own
	o.judgeLater()
	o.waive(workload)
	if o.cutShort != "" && len(o.Violations) == 0 {
		o.Unknown = o.cutShort
	}
	o.measure(cfg.audit)
	return o
}

// waive drops what the recipe does not promise.
func (o *outcome) waive(workload Workload) {
	w, can := workload.(Waiver)
	if !can || len(o.Violations) == 0 {
		return
	}
	waived := func(v Violation) bool { return slices.Contains(w.Waived(), v.Property) }
	o.Violations = slices.DeleteFunc(o.Violations, waived)
}

// givenUp is the panic of a source that gives the episode up.
type givenUp struct{ by any }

// stopped notes why an episode did not end: its source gave it up, or the workload or the simulator panicked.
func (o *outcome) stopped(problem any) {
	if up, ok := problem.(givenUp); ok {
		o.aborted = up.by
		return
	}
	o.Later, o.Audit = nil, nil
	o.Unknown = fmt.Sprintf("the workload, or the simulator itself, panicked: %v\n%s", problem, panicStack())
}

// judgeLater runs the part of the judgement that has no place in a bubble.
func (o *outcome) judgeLater() {
	if o.Later == nil || o.aborted != nil {
		return
	}
	defer func() {
		if problem := recover(); problem != nil {
			o.stopped(problem)
		}
	}()
	j := o.Later()
	o.Later = nil
	for _, v := range j.Violations {
		o.hash = digest.Mix(o.hash ^ hashString(v.Property))
	}
	o.Violations = append(o.Violations, j.Violations...)
	if j.Unknown != "" {
		o.Unknown, o.Disputed = j.Unknown, j.Disputed
	}
}

// inBubble runs f in a synctest bubble and tells whether f left goroutines behind.
func inBubble(f func()) (leaked bool) {
	defer func() {
		problem := recover()
		if problem == nil {
			return
		}
		if leaked = strings.Contains(fmt.Sprint(problem), "blocked goroutines remain"); !leaked {
			panic(problem)
		}
	}()
	synctest.Test(&testing.T{}, func(*testing.T) { f() })
	return false
}

// describeLeak says what has been left behind. The stacks are for runs with a trace only, which are few: collecting
// them takes longer the more goroutines runs have left.
func describeLeak(bubble int) string {
	const text = "after all connections were closed goroutines of the recipe still waited"
	if bubble == 0 {
		return text
	}
	return text + ":\n" + bubbleStacks(bubble)
}

func (w *World) run(workload Workload, o *outcome) {
	defer func() {
		if problem := recover(); problem != nil {
			o.stopped(problem)
			o.size = w.size()
			w.end(false)
		}
		o.made, o.hash, o.steps, o.ops = w.source.made, w.hash, w.step, w.ops
		o.events, o.after, o.layout = w.events[:w.eventful:w.eventful], w.events[w.eventful:], w.layout()
		o.allowed = w.cfg.faults
		o.bubble, o.wire, o.outlive = w.bubble, w.door != InProcess, w.outlived()
	}()
	w.beginExact()
	w.setUp(workload)
	w.torture()
	everybody := w.recover()
	if everybody {
		w.expireDead()
	}
	o.record = w.complete()
	if o.outside = w.outsider(); o.outside != "" {
		o.Unknown = o.outside
	} else {
		o.Judgement = w.judge(everybody)
	}
	if w.livelock != nil && len(o.Violations) > 0 {
		o.cutShort = o.Violations[0].Message
	}
	o.struck, o.choices, o.size = w.struck, w.source.choices(), w.size()
	o.sensitivity = Sensitivity{Faults: o.faults, DuringOp: w.duringOp}
	w.end(len(o.Violations) == 0)
	if leftover := w.panicked; len(o.Violations) == 0 && o.outside == "" && len(leftover) > 0 {
		o.Violations = leftover
	}
}

// judge collects what the workload and the world itself find wrong. Of a run that was cut short nothing else is judged:
// what is missing or left in it may have been about to come, or to go.
func (w *World) judge(everybody bool) Judgement {
	j := w.episode.Judge(w)
	switch {
	case len(w.panicked) > 0:
		j.Violations, j.Later = w.panicked, nil // what else went wrong follows from it
	case w.livelock != nil:
		j = Judgement{Violations: []Violation{w.toldLivelock()}, History: j.History}
	case w.endless:
		j = Judgement{Unknown: fmt.Sprintf("a script did not end within %d steps of a world without faults, "+
			"although operations began and ended: %s", livenessSteps, w.unended()), History: j.History}
	case !everybody && len(j.Violations) == 0:
		w.stuck(&j)
	}
	for i := range j.Violations {
		w.foldString(j.Violations[i].Property)
	}
	return j
}

// stuck explains who did not finish although all faults were healed, for workloads that have nothing better to say.
func (w *World) stuck(j *Judgement) {
	for _, op := range w.Waiting() {
		j.Violations = []Violation{Violation{Property: "progress", Ops: []*Op{op}}.Saying("%v", w.Explain(op))}
		return
	}
	text := fmt.Sprintf("no operation is under way, and nothing has moved for %v of a world without faults: %s",
		stillMax, w.unended())
	if len(w.outside) == w.countUnfinished() { // the scripts wait for each other, whatever the recipe does
		*j = Judgement{Unknown: text, History: j.History}
		return
	}
	j.Violations = []Violation{{Property: "progress", Message: text}}
}

// unended says who has not ended a script, and for what it waits, if that is the world's.
func (w *World) unended() string {
	var all []string
	for _, p := range w.procs {
		for _, u := range p.users {
			if u.done {
				continue
			}
			text := fmt.Sprintf("c%d's script goes on", p.id+1)
			if i := slices.IndexFunc(w.outside, func(c *outsideCall) bool { return c.user == u }); i >= 0 {
				text = fmt.Sprintf("c%d's script waits until it is %q", p.id+1, w.outside[i].what)
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}
