package index

import (
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/stamps"
)

// HistoryName is the file of the whole history of a run on real servers.
const HistoryName = "history.jsonl"

// History is a file with what clients saw.
type History struct {
	File    string
	Verdict string // violation, if the run found one in it; else that of the run that wrote it; or not judged
	Reason  string // for a verdict that is not ok
	Story   string // page of the violation; empty if there is none
}

// notJudged is the verdict on a history that no run says it wrote.
const notJudged = "not judged"

// histories lists the histories, after the runs that wrote them.
func (b *builder) histories() {
	for _, name := range b.recorded {
		if b.ctx.Err() != nil {
			return
		}
		b.index.Histories = append(b.index.Histories, b.history(name))
	}
}

// history lists a history with what its run says of it, and makes the page of a violation.
func (b *builder) history(name string) History {
	run := b.index.beside(name)
	if run == nil || !run.wrote(name) {
		return History{File: name, Verdict: notJudged, Reason: "no result of a run in the same folder says that it wrote this history: " +
			b.options.Command + " check judges it"}
	}
	found, violates := run.found(name)
	switch {
	case violates:
		return b.broken(name, run, found)
	case path.Base(run.File) == BeginName:
		return History{File: name, Verdict: run.Verdict, Reason: fmt.Sprintf("its run has no result: %s check %s judges the rounds that it has finished",
			b.options.Command, b.options.File(b.path(path.Dir(name))))}
	}
	return History{File: name, Verdict: run.Verdict, Reason: run.Reason}
}

// broken lists the violation that a run found in the history of a round.
func (b *builder) broken(name string, run *Run, found finding) History {
	b.progress(name)
	page, err := b.tell(name, func() (*story.Story, error) { return b.round(name, run, found) })
	if err != nil {
		b.problem(name, err)
	}
	b.index.Violations = append(b.index.Violations, Violation{File: name, Story: page, Workload: run.Workload, Recipe: run.Recipe,
		Property: found.Property, Message: found.Message})
	return History{File: name, Verdict: linearizability.Violation.String(), Reason: found.Property + ": " + found.Message, Story: page}
}

// round tells the history of a round: the operations that break the model, or all if the run found what is no rule of it.
func (b *builder) round(name string, run *Run, found finding) (*story.Story, error) {
	file, err := os.Open(b.path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h, err := histories.Read(file)
	if err != nil {
		return nil, err
	}
	if s := b.cited(name, run, found, h); s != nil {
		return s, nil
	}
	s := stamps.Whole(h, found.Property, found.Message)
	s.Workload, s.Recipe = run.Workload, run.Recipe
	return s, nil
}

// cited tells of the operations by which a history breaks the found property; nil if the model has no such rule.
func (b *builder) cited(name string, run *Run, found finding, h linearizability.History) *story.Story {
	if b.options.Model == nil {
		return nil
	}
	m, err := b.options.Model(run.Workload, run.Recipe)
	if err != nil {
		return nil
	}
	check := m.Check
	if check == nil {
		check = func(h linearizability.History) []linearizability.Verdict {
			return linearizability.Check(m.Model, h, 10*time.Second)
		}
	}
	verdicts := check(h)
	i := slices.IndexFunc(verdicts, func(v linearizability.Verdict) bool {
		return v.Outcome == linearizability.Violation && v.Property == found.Property
	})
	if i < 0 {
		return nil
	}
	of := slices.DeleteFunc(h, func(o linearizability.Operation) bool { return o.Object != verdicts[i].Object })
	s := stamps.Verdict(m.Name, of, verdicts[i], 3)
	s.Commands = []story.Command{{Name: "judge",
		Line: fmt.Sprintf("%s check %s %s", b.options.Command, b.options.File(b.path(name)), m.Flags)}}
	return s
}
