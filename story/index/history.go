package index

import (
	"errors"
	"os"
	"time"

	"github.com/zktorture/zktorture/linearizability"
)

// HistoryName is the file of the whole history of a run on real servers.
const HistoryName = "history.jsonl"

// History is a file with what clients saw.
type History struct {
	File    string
	Count   int    // of operations
	Objects int    // of the operations
	Model   string // that judged it; empty if none did
	Verdict string // ok, violation, unknown, or not judged
	Reason  string // for a verdict that is not ok
	Story   string // page of the violation; empty if there is none
}

// notJudged is the verdict on a history of an unknown object.
const notJudged = "not judged"

// recording is a history under examination.
type recording struct {
	History
	operations linearizability.History
	complete   bool
	run        *Run    // that wrote it; nil if unknown
	found      finding // of the run, in this file; the zero finding if there is none
}

// histories reads and judges the histories, after the runs that wrote them.
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

// recording reads a history; nil if it is empty.
func (b *builder) recording(name string) (*recording, error) {
	file, err := os.Open(b.path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h, complete, err := b.operations(name, file)
	if len(h) == 0 {
		return nil, errors.Join(err, errors.New("it has no operations"))
	}
	r := &recording{operations: h, complete: complete}
	r.History = History{File: name, Count: len(h), Verdict: notJudged}
	if run := b.index.beside(name); run != nil {
		r.found, _ = run.found(name)
		if run.wrote(name) {
			r.run = run
		}
	}
	return r, err
}

// object is one object's part of a history.
type object struct {
	name       string
	operations linearizability.History
}

// byObject splits a history by object, in order of first appearance.
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
