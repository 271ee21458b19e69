package story

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// frame is a position of the scrubber: a step at which something happened.
//
// Invariant: frames are in order of step, each step once.
type frame struct {
	Step  int64    `json:"step"`
	Time  string   `json:"time"` // by the servers' clock
	Lines []string `json:"lines"`
	Code  []string `json:"code"` // of each line: where the request was sent, and from where that was called
	Pivot bool     `json:"pivot"`
	Share int      `json:"share"` // percent of the continuations that end in the violation; -1: unknown

	// Its position in the diagram, in its units.
	Top    float64 `json:"top"`
	Bottom float64 `json:"bottom"`

	// And with uneventful stretches folded.
	FoldedTop    float64 `json:"foldedTop"`
	FoldedBottom float64 `json:"foldedBottom"`
}

// frames lists the steps at which something happened.
func (s prose) frames() []frame {
	var frames []frame
	for _, step := range s.steps() {
		frames = append(frames, frame{Step: step, Lines: []string{}, Code: []string{}, Share: -1,
			Pivot: s.Pivot != nil && s.Pivot.Step > 0 && s.Pivot.Step == step})
	}
	for i, e := range s.Events {
		if f, found := frameAt(frames, e.Step); found {
			frames[f].Time = seconds(e.Time)
			if !s.silent(i) {
				frames[f].Lines = append(frames[f].Lines, s.line(e))
				frames[f].Code = append(frames[f].Code, e.stack())
			}
		}
	}
	for _, p := range s.Curve {
		if f, found := frameAt(frames, p.Step); found {
			frames[f].Share = 100 * p.Broken / max(p.Runs, 1)
		}
	}
	return frames
}

// steps lists the steps of all events, in order, each once.
func (s *Story) steps() (steps []int64) {
	for _, e := range s.Events {
		steps = append(steps, e.Step)
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

func frameAt(frames []frame, step int64) (index int, found bool) {
	return slices.BinarySearchFunc(frames, step,
		func(f frame, step int64) int { return int(min(1, max(-1, f.Step-step))) })
}

// frameFrom returns the first frame that is not before a step, the last one if there is none.
func frameFrom(frames []frame, step int64) int {
	i, _ := frameAt(frames, step)
	return min(i, len(frames)-1)
}

// stack is the code of an event's request, innermost first, the callers without their folders.
func (e Event) stack() string {
	text := e.Code
	for _, caller := range strings.Split(e.Callers, ", ") {
		if caller != "" {
			text += " ← " + path.Base(caller)
		}
	}
	return text
}

// line describes an event and its client.
func (s prose) line(e Event) string {
	if e.Client < 0 {
		return s.words(e)
	}
	return s.user(e.Client, max(e.User, 0)) + ": " + s.words(e)
}

func seconds(ms int64) string { return fmt.Sprintf("%v s", float64(ms)/1000) }
