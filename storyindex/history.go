package storyindex

import (
	"errors"
	"os"
	"time"

	"github.com/zktorture/zktorture/linearizability"
)

// HistoryName is what a run on real servers calls the history of all that its clients saw.
const HistoryName = "history.jsonl"

// History is what clients saw, as a file.
type History struct {
	File     string
	Count    int    // of operations
	Objects  int    // that they were on
	Model    string // against which they were judged; empty if they were not
	Verdict  string // ok, violation, unknown, or NotJudged
	Reason   string // for a verdict that is not ok
	Story    string // the page of what broke; empty if there is none
	Outcomes Outcomes
	Nanos    bool // stamps are known to be nanoseconds
	Part     bool // of another history: the round in which a run found something
}

// NotJudged is the verdict on a history of which nobody says what it is of.
const NotJudged = "not judged"

// recording is a history under examination.
type recording struct {
	History
	operations linearizability.History
	complete   bool
	run        *Run    // that has written it; nil if that is not known
	found      finding // of the run, about this file; the zero finding if there is none
}

// histories reads and judges the histories; by now it is known which run wrote which.
func (b *builder) histories() {
	end := time.Now().Add(b.options.Judging)
	for _, name := range b.recorded {
		if b.ctx.Err() != nil {
			return
		}
		r, err := b.recording(name)
		if err != nil {
			b.problem(name, err)
		}
		if r == nil {
			continue
		}
		b.examine(r, end)
		b.index.Histories = append(b.index.Histories, r.History)
	}
}

// recording reads a history; nil if there is no operation in it.
func (b *builder) recording(name string) (*recording, error) {
	file, err := os.Open(b.path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h, complete, err := b.operations(name, file)
	if len(h) == 0 {
		return nil, errors.Join(err, errors.New("there is no operation in it"))
	}
	r := &recording{operations: h, complete: complete}
	r.History = History{File: name, Count: len(h), Verdict: NotJudged, Outcomes: newOutcomes(h)}
	if run := b.index.beside(name); run != nil {
		r.found, r.Part = run.found(name)
		if run.wrote(name) {
			r.run, r.Nanos = run, true
		}
	}
	return r, err
}

// object is the part of a history that is of one object.
type object struct {
	name       string
	operations linearizability.History
}

// byObject parts a history, in the order in which the objects turn up.
func byObject(h linearizability.History) []object {
	var objects []object
	at := map[string]int{}
	for _, o := range h {
		i, known := at[o.Object]
		if !known {
			i = len(objects)
			at[o.Object], objects = i, append(objects, object{name: o.Object})
		}
		objects[i].operations = append(objects[i].operations, o)
	}
	return objects
}
