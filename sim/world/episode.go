package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/internal/cycle"
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// Settings are what one run of an episode needs.
type Settings struct {
	Source    Source
	Faults    Faults // allowed; the episode draws its own subset
	Clients   int
	Ops       int
	StepsMax  int // of the torture phase
	Servers   *fakezk.Ensemble
	Memory    *Memory        // to reuse: the next world's when the episode has been judged; nil for none
	Trace     *[]Step        // where to keep a trace; nil for none
	Places    *bubble.Places // where requests were sent; nil if nobody wants to know
	Observers []Observer     // who watch the run, beside its source
	Tape      *bubble.Tape   // what the Go runtime decides is drawn too; nil if it is not
}

// Run is one run of an episode, and its result.
type Run struct {
	Judgement
	Ops     []*Op
	Made    []Made
	Choices Choices
	Struck  [FaultCount]int
	size
	Layout   []int  // users by client
	Allowed  Faults // those that the episode was asked about …
	Drawn    Faults // … and that were in it
	Steps    int
	Hash     uint64
	Aborted  any // what the source gave up with
	Record   *Record
	bubble   int // its number, where somebody may want to know what is left in it: of runs with a trace, and over the wire
	Wire     bool
	cutShort string   // why all of the run was not judged: then it is no pass, also where that is waived
	outlive  bool     // goroutines may outlive the episode, see [World.outlived]
	Leaked   bool     // goroutines have
	Left     string   // where, if that is not judged; "" if none
	Outside  string   // see [outsider]
	shared   string   // see [World.shared]
	Barred   []string // calls of package net that would have left the world, with their places
}

// Play runs an episode in a bubble of its own. If the bubble freezes it never returns.
func Play(workload Workload, cfg *Settings) *Run {
	o := &Run{}
	terms := workload.Terms()
	if o.Outside = terms.outside(); o.Outside != "" {
		o.Unknown = o.Outside
		return o
	}
	if terms.Door.Wired() {
		prepareNet()
		noLog()
	}
	var w *World
	o.Leaked = inBubble(func() { w = newWorld(cfg); w.run(workload, o) })
	if w.gone.Store(true); !o.Leaked {
		return o
	}
	if !o.outlive && len(o.Violations) == 0 && o.Outside == "" && o.Aborted == nil {
		o.Violations = []Violation{{Property: "goroutine-leak", Message: describeLeak(o.bubble)}}
	}
	if o.Leaked = bubble.ReapLeft(); o.Leaked && o.outlive {
		o.Left = bubble.LeftPlaces(o.bubble)
	}
	return o
}

// Conclude does the rest of what there is to judge of an episode that is over.
func (o *Run) Conclude(workload Workload) {
	o.judgeLater()
	o.waive(workload)
	stale := usedStale()
	switch {
	case stale != "":
		o.Outside, o.Unknown, o.Violations = stale, stale, nil
	case o.cutShort != "" && len(o.Violations) == 0:
		o.Unknown = o.cutShort
	case o.shared != "" && len(o.Violations) > 0:
		o.Outside, o.Unknown, o.Violations = o.shared, o.shared, nil // the recipe is not accused of it
	}
}

// waive drops what the recipe does not promise.
func (o *Run) waive(workload Workload) {
	waived := workload.Terms().Waived
	o.Violations = slices.DeleteFunc(o.Violations, func(v Violation) bool {
		return slices.Contains(waived, v.Property)
	})
}

// givenUp is the panic of a source that gives the episode up.
type givenUp struct{ by any }

// GiveUp gives the episode up, on the goroutine of its loop: for a [Source] or an [Observer]. The run says by what.
func GiveUp(by any) { panic(givenUp{by}) }

// ruleBroken is the panic of a world that finds that it does not keep its own rules.
type ruleBroken struct{ how error }

// insist ends the run if the simulator breaks a rule of its own: who accuses others has to be sure of itself. A run with
// a trace asks each turn; what accuses somebody is run again with one.
func (w *World) insist() {
	broken := fakezk.Check(w.servers)
	for _, p := range w.procs {
		if p.inProcess != nil {
			broken = cmp.Or(broken, goclient.Check(p.inProcess))
		}
	}
	if broken != nil {
		panic(ruleBroken{broken})
	}
}

// stopped notes why an episode did not end: its source gave it up, or the workload or the simulator panicked.
func (o *Run) stopped(problem any) {
	if up, ok := problem.(givenUp); ok {
		o.Aborted = up.by
		return
	}
	o.Later = nil
	if broken, ok := problem.(ruleBroken); ok {
		o.Unknown = fmt.Sprintf("the simulator has broken a rule of its own, so this episode says nothing: %v: "+
			"please report this, with the seed", broken.how)
		return
	}
	u := withStack(problem).(upset)
	o.Unknown = fmt.Sprintf("the workload, or the simulator itself, panicked: %v\n%s", u.problem, u.stack)
}

// judgeLater runs the part of the judgement that has no place in a bubble.
func (o *Run) judgeLater() {
	if o.Later == nil || o.Aborted != nil {
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
		o.Hash = digest.Mix(o.Hash ^ HashString(v.Property))
	}
	o.Violations = append(o.Violations, j.Violations...)
	if j.Unknown != "" {
		o.Unknown = j.Unknown
	}
}

func (w *World) run(workload Workload, o *Run) {
	defer func() {
		broken := false
		if problem := recover(); problem != nil {
			o.stopped(problem)
			o.size = w.Size()
			if _, broken = problem.(ruleBroken); !broken { // else nobody knows how it would end
				w.end(false)
			}
		}
		o.Made, o.Hash, o.Steps, o.Ops = w.source.made, w.hash, w.step, w.ops
		o.Layout, o.Allowed, o.Drawn = w.layout(), w.cfg.Faults, w.faults
		o.bubble, o.Wire, o.outlive = w.bubble, w.door != InProcess, broken || outlived(w)
		for _, b := range w.barred {
			o.Barred = append(o.Barred, b.call+" at "+b.at)
		}
		disown(w)
	}()
	beginExact(w)
	w.setUp(workload)
	w.torture()
	everybody := w.recover()
	if everybody {
		expireDead(w)
	}
	o.Record = complete(w)
	if o.Outside = outsider(w); o.Outside != "" {
		o.Unknown = o.Outside
	} else {
		o.Judgement = judge(w, everybody)
	}
	if w.livelock != nil && len(o.Violations) > 0 {
		o.cutShort = o.Violations[0].Message
	}
	o.shared = w.shared()
	o.Struck, o.Choices, o.size = w.struck, w.source.choices(), w.Size()
	w.end(len(o.Violations) == 0)
	if leftover := w.panicked; len(o.Violations) == 0 && o.Outside == "" && len(leftover) > 0 {
		o.Violations = leftover
	}
}

// judge collects what the workload and the world itself find wrong. Of a run that was cut short nothing else is judged:
// what is missing or left in it may have been about to come, or to go.
func judge(w *World, everybody bool) Judgement {
	j := w.episode.Judge(w)
	switch {
	case len(w.panicked) > 0:
		j.Violations, j.Later = w.panicked, nil // what else went wrong follows from it
	case w.livelock != nil:
		j = Judgement{Violations: []Violation{toldLivelock(w)}, History: j.History}
	case w.endless != "":
		j = Judgement{Unknown: w.endless, History: j.History}
	case !everybody && len(j.Violations) == 0:
		explainStuck(w, &j)
	}
	for i := range j.Violations {
		w.foldString(j.Violations[i].Property)
	}
	return j
}

// explainStuck explains who did not finish although all faults were healed, for workloads that have nothing better to say.
func explainStuck(w *World, j *Judgement) {
	for _, op := range w.Waiting() {
		j.Violations = []Violation{Violation{Property: "progress", Ops: []*Op{op}}.Saying("%v", w.Explain(op))}
		return
	}
	text := fmt.Sprintf("no operation is under way, and nothing has moved for %v of a world without faults: %s",
		stillMax, unended(w))
	if len(w.outside) == countUnfinished(w) { // the scripts wait for each other, whatever the recipe does
		*j = Judgement{Unknown: text, History: j.History}
		return
	}
	property := "progress"
	for _, p := range w.procs {
		if slices.ContainsFunc(p.users, func(u *User) bool { return u.closing }) {
			property = "hang"
		}
	}
	j.Violations = []Violation{{Property: property, Message: text}}
}

// unended says who has not ended a script, and for what it waits, if that is the world's.
func unended(w *World) string {
	var all []string
	for _, p := range w.procs {
		for _, u := range p.users {
			if u.done {
				continue
			}
			text := fmt.Sprintf("c%d's script goes on", p.id+1)
			if u.closing {
				text = fmt.Sprintf("c%d's Close has not returned", p.id+1)
			}
			if i := slices.IndexFunc(w.outside, func(c *outsideCall) bool { return c.user == u }); i >= 0 {
				text = fmt.Sprintf("c%d's script waits until it is %q", p.id+1, w.outside[i].what)
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// Breaks returns the violation of a property, nil if there is none.
func (o *Run) Breaks(property string) *Violation {
	for i := range o.Violations {
		if o.Violations[i].Property == property {
			return &o.Violations[i]
		}
	}
	return nil
}

// size is what a person has to understand of a run. Each number only grows while the run goes on.
type size struct {
	Users    int
	Clients  int
	Faults   int // how many strikes
	Calls    int // operations that have begun
	Tortured int // steps of the torture phase
}

// Cost orders counterexamples: by their size, the most important first (two clients with a user each are simpler
// than one with two), then by how many choices they take, and by the sum of these.
func (s *size) Cost(choices, sum int) []int {
	return []int{s.Users, s.Users - s.Clients, s.Faults, s.Calls, s.Tortured, choices, sum}
}

func Cost(o *Run) []int { return o.size.Cost(len(o.Choices), sum(o.Choices)) }

func sum(choices Choices) (total int) {
	for _, c := range choices {
		total += c
	}
	return total
}

// layout returns how many users each client has.
func (w *World) layout() (users []int) {
	for _, p := range w.procs {
		users = append(users, len(p.users))
	}
	return users
}

func (w *World) Size() size {
	s := size{Clients: len(w.procs), Calls: len(w.ops), Tortured: w.step}
	for _, p := range w.procs {
		s.Users += len(p.users)
	}
	for _, n := range w.struck {
		s.Faults += n
	}
	if w.liveness {
		s.Tortured = w.tortured
	}
	return s
}

// Memory is what worlds that run one after the other use in turn, so that it is allocated once.
type Memory struct {
	changes  []Change
	herd     []Herd
	removals []Removal
	ticks    []tick
	deaths   map[int64]int   // the steps at which sessions ended
	parents  map[string]bool // znodes that have had children

	actions  []Action
	targets  []Target
	empty    []string
	pinging  []int64
	watchers []goclient.Watcher
}

func NewMemory() *Memory { return &Memory{deaths: map[int64]int{}, parents: map[string]bool{}} }

// forget makes the memory as new.
func (m *Memory) forget() {
	clear(m.deaths)
	clear(m.parents)
	m.changes, m.herd, m.ticks, m.removals = m.changes[:0], m.herd[:0], m.ticks[:0], m.removals[:0]
}

// expireDead lets what is still under way arrive, and the sessions of processes that will not come back run out.
func expireDead(w *World) {
	drain(w)
	for begin := w.elapsed; w.elapsed-begin < lastWait && w.livelock == nil; drain(w) {
		w.sleep(undisturbed(w, lastWait-(w.elapsed-begin)))
	}
}

// drain lets everything happen that can.
func drain(w *World) {
	for beginTurn(w); w.livelock == nil; beginTurn(w) {
		a := nextFair(w)
		if a == Idling {
			return
		}
		w.perform(a)
	}
}

// lastWait is how long, in milliseconds, sessions have to run out and recipes to clean up behind themselves.
const lastWait = 4 * sessionTimeout

// end stops everything. Politely it closes the clients, after which recipes must end by themselves; else it kills them.
func (w *World) end(politely bool) {
	w.ending = true
	reaped := !politely && reap(w, func(owner) bool { return true })
	for _, p := range w.procs {
		if len(p.clients) == 0 && p.door == nil {
			continue // given up before this process began
		}
		for _, u := range p.users {
			u.dead.Store(!politely)
			if !reaped {
				u.endContexts()
			}
		}
		switch {
		case p.inProcess == nil || p.crashed:
		case politely:
			p.inProcess.Finish()
		default:
			p.inProcess.Kill()
		}
	}
	for _, c := range w.dead {
		if politely {
			c.Finish()
		} else {
			c.Kill()
		}
	}
	closeDoors(w)
	for _, call := range w.outside {
		call.done <- false
	}
	w.outside = nil
	close(w.over)
	tireDoors(w)
	for minutes := endMinutes; minutes > 0; {
		pause := 1
		if refuse(w) == 0 && (w.door == InProcess || minutes < endMinutes) {
			pause = minutes
		}
		minutes -= pause
		time.Sleep(time.Duration(pause) * time.Minute)
	}
	refuse(w)
	if w.endRandom != nil {
		w.endRandom()
	}
	shutDoors(w)
}

// endMinutes is how long recipes have to notice that their connections are closed.
const endMinutes = 3

// refusals is how many times in a row, at most, requests are refused and recipes ask anew.
const refusals = 20000

// refuse answers requests that were submitted before their clients ended, and returns how many.
func refuse(w *World) (refused int) {
	synctest.Wait()
	for range refusals {
		calls := w.submitted
		w.submitted = nil
		for _, call := range calls {
			call.Client().Accept(call)
		}
		if len(calls) == 0 {
			break
		}
		refused += len(calls)
		synctest.Wait()
	}
	return refused
}

// inBubble runs f in a synctest bubble and reports whether f left goroutines behind.
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
func describeLeak(number int) string {
	const text = "after all connections were closed goroutines of the recipe still waited"
	if number == 0 {
		return text
	}
	return text + ":\n" + bubble.Stacks(number)
}

// outlived reports whether goroutines may be left at the end of the episode that are no fault of the recipe's: those of
// a process that has died, which nothing can end, and over the wire those of connections that code has opened by itself
// and that the world cannot close, as they were not opened with [User.ZKOption].
func outlived(w *World) bool {
	died := func(p *process) bool { return len(p.crashes) > 0 }
	return slices.ContainsFunc(w.procs, died) ||
		slices.ContainsFunc(w.doors, func(d *door) bool { return d.unknown.Load() })
}

// A livelock is a client that asks again and again while no operation begins or ends. It ends the run: where no time
// passes, nothing that others do while they hold something ever does. What a client may ask for before that is more
// than a correct one does in the course of one operation: it looks at every znode several times, and then waits, if
// only for a moment.
const (
	askedAtOnce   = 1000 // what a client asks for …
	askedByZnode  = 10   // … and for each change of the tree that was made before …
	askedByMillis = 20   // … and for each millisecond that passes

	turnMax = 40 // the longest turn of a livelock that is recognised
)

// asking is what a client has asked for since an operation began or ended.
type asking struct {
	quiet  int // which time of the world's
	times  int
	recent []string // the last, when there is nearly too much
}

// quietTime is the time since an operation began or ended.
type quietTime struct {
	number  int
	since   int64 // elapsed
	changes int   // of the tree until then
}

// noteProgress notes that an operation has begun or ended, or is about to.
func (w *World) noteProgress() {
	w.quiet = quietTime{w.quiet.number + 1, w.elapsed, len(w.changes)}
}

// asks counts what a client asks for: a request, a connection, or what is shared outside of ZooKeeper.
func (p *process) asks(what func() string) {
	w := p.world
	if !w.liveness || w.livelock != nil {
		return
	}
	a := &p.asking
	if a.quiet != w.quiet.number {
		a.quiet, a.times, a.recent = w.quiet.number, 0, a.recent[:0]
	}
	a.times++
	most := askedAtOnce + askedByZnode*w.quiet.changes + askedByMillis*int(w.elapsed-w.quiet.since)
	if a.times > most-2*turnMax {
		a.recent = append(a.recent, what())
	}
	if a.times > most {
		w.livelock = p
	}
}

// toldLivelock is the violation of a client that has ended the run so.
func toldLivelock(w *World) Violation {
	p := w.livelock
	found := Violation{Property: "progress"}
	for _, op := range w.Waiting() {
		if op.Client == p.id {
			found.Ops = append(found.Ops, op)
		}
	}
	passed := "no time passed"
	if d := w.elapsed - w.quiet.since; d > 0 {
		passed = fmt.Sprintf("%v passed", milliseconds(d))
	}
	text := Say("livelock: c%d sent %d requests while %s and no operation began or ended", p.id+1, p.asking.times, passed)
	if len(found.Ops) > 0 {
		text = Say("%v, in %s, which waits without a pause", text, found.Ops[0].Name)
	}
	return found.Saying("%v; %s", text, p.asking.turn())
}

func alike(a, b string) bool { return cycle.Shape(a) == cycle.Shape(b) }

// turn says what was sent again and again.
func (a *asking) turn() string {
	n := len(a.recent)
	for length := 1; length <= min(turnMax, n/2); length++ {
		last := a.recent[n-length:]
		if slices.EqualFunc(last, a.recent[n-2*length:n-length], alike) {
			return "again and again: " + strings.Join(last, ", ")
		}
	}
	return "the last were: " + strings.Join(a.recent[max(0, n-5):], ", ")
}
