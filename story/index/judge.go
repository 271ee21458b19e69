package index

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/stamps"
)

const (
	aroundShown   = 3         // operations before and after each cited one in a story
	operationsMax = 2_000_000 // judged at most of a history
)

// examine judges a history if its model is known, and lists its violation: one of the model, or else the run's own
// finding, which a model of results may not cover.
func (b *builder) examine(r *recording, end time.Time) {
	objects := byObject(r.operations)
	r.Objects = len(objects)
	model, err := b.modelOf(r)
	if err != nil {
		r.Reason = err.Error()
		b.believe(r)
		return
	}
	r.Model = model.Name
	b.progress(r.File)
	v, of := b.judge(model, objects, end)
	r.Verdict, r.Reason = v.Outcome.String(), v.Reason
	if v.Outcome == linearizability.Violation {
		b.accuse(r, model, v, of)
		return
	}
	b.believe(r)
}

// modelOf returns the model of a history, or an error if it is unknown.
func (b *builder) modelOf(r *recording) (Model, error) {
	switch {
	case r.run == nil:
		return Model{}, errors.New("no result of a run in the same folder says that it wrote this history, " +
			"so its model is not known")
	case !r.complete:
		return Model{}, errors.New("only a part of it can be read, and the missing part may explain the rest")
	case r.Count > operationsMax:
		return Model{}, fmt.Errorf("it has more than %d operations: %s check %s", operationsMax,
			b.options.Command, b.options.File(b.path(r.File)))
	case b.options.Model == nil:
		return Model{}, errors.New("the model is not known")
	}
	return b.options.Model(r.run.Workload, r.run.Recipe)
}

// judge judges the objects in turn until one breaks the model. It returns the worst verdict, and its part of the
// history.
func (b *builder) judge(m Model, objects []object, end time.Time) (worst linearizability.Verdict,
	of linearizability.History) {
	for _, o := range objects {
		left := time.Until(end)
		if left <= 0 || b.ctx.Err() != nil {
			return linearizability.Verdict{Outcome: linearizability.Undetermined,
				Reason: fmt.Sprintf("the time that an index takes for judging, %v, was over; by itself: %s check FILE %s",
					b.options.Judging, b.options.Command, m.Flags)}, nil
		}
		check := m.Check
		if check == nil {
			check = func(h linearizability.History) []linearizability.Verdict {
				return linearizability.Check(m.Model, h, min(left, 10*time.Second))
			}
		}
		v := check(o.operations)[0]
		switch v.Outcome {
		case linearizability.Violation:
			return v, o.operations
		case linearizability.Undetermined:
			worst, of = v, o.operations
		}
	}
	return worst, of
}

// accuse lists a history that breaks its model, with the object's story.
func (b *builder) accuse(r *recording, m Model, v linearizability.Verdict, of linearizability.History) {
	r.Reason = v.Property + ": " + v.Message
	b.list(r, cmp.Or(r.found, finding{Property: v.Property, Message: v.Message}), func() (*story.Story, error) {
		s := stamps.Verdict(m.Name, of, v, aroundShown)
		line := fmt.Sprintf("%s check %s %s", b.options.Command, b.options.File(b.path(r.File)), m.Flags)
		s.Commands = []story.Command{{Name: "judge", Line: line}}
		return s, nil
	})
}

// believe lists a history with a finding of the run that no model covers, such as a znode left behind. Its story is
// the whole round.
func (b *builder) believe(r *recording) {
	if r.found.Property == "" || r.run == nil || !r.complete {
		return
	}
	if r.Model != "" {
		found := fmt.Sprintf("the run found that it breaks %s, which is not a rule of the model", r.found.Property)
		r.Reason = strings.TrimPrefix(r.Reason+"; "+found, "; ")
	}
	b.list(r, r.found, func() (*story.Story, error) {
		s := stamps.Whole(r.operations, r.found.Property, r.found.Message)
		s.Workload, s.Recipe = r.run.Workload, r.run.Recipe
		return s, nil
	})
}

// list makes the story's page of a history and lists the violation. A whole run's violation is listed with the
// history of its round, if there is one.
func (b *builder) list(r *recording, f finding, tell func() (*story.Story, error)) {
	var err error
	if r.Story, err = b.tell(r.File, tell); err != nil {
		b.problem(r.File, err)
	}
	if r.found.Property == "" && len(r.run.findings()) > 0 {
		return
	}
	b.index.Violations = append(b.index.Violations, Violation{
		File: r.File, Story: r.Story, Workload: r.run.Workload, Recipe: r.run.Recipe, Property: f.Property,
		Message: f.Message,
	})
}
