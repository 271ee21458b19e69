package story

import "slices"

// span is a part of a session's life in the pictures.
type span struct {
	class       string // in the style sheet
	from, until int64  // steps; until is -1 if it does not end
}

// spans divides the life of a session: alive; alive with a crashed client; ended at the servers without the client's
// knowledge.
func (s *Story) spans(of Session) []span {
	crash := s.crash(of.Client, of.Begin)
	if crash >= 0 && (of.End < 0 || crash < of.End) {
		return []span{{"alive", of.Begin, crash}, {"orphan", crash, of.End}}
	}
	spans := []span{{"alive", of.Begin, of.End}}
	if of.Expired && of.End >= 0 && of.Learned != of.End {
		spans = append(spans, span{"unaware", of.End, s.aware(of)})
	}
	return spans
}

// aware is the step from which a client acts on the end of its session: it learns of it, crashes, or has another; -1
// if it never does.
func (s *Story) aware(of Session) int64 {
	until := []int64{of.Learned, s.crash(of.Client, of.End)}
	for _, other := range s.Sessions {
		if other.Client == of.Client && other.Begin > of.Begin {
			until = append(until, other.Begin)
		}
	}
	until = slices.DeleteFunc(until, func(step int64) bool { return step < of.End })
	if len(until) == 0 {
		return -1
	}
	return slices.Min(until)
}

// crash returns the step of a client's first crash after a step, -1 if there is none.
func (s *Story) crash(client int, after int64) int64 {
	i := slices.IndexFunc(s.Events, func(e Event) bool {
		return e.Client == client && e.Kind == kindFault && e.What == "crash" && e.Step > after
	})
	if i < 0 {
		return -1
	}
	return s.Events[i].Step
}
