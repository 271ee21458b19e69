package interval

// Supply is slots that last for ever, so that each can serve all deadlines after its beginning: of the sets of slots
// that can serve them each contains the one before, and Hall's theorem ("On Representatives of Subsets", 1935) says
// that all deadlines can be met if for every i the i-th has i slots that began by then.
type Supply struct {
	Slots         []Mark // by instant
	begun, demand int
}

// Meet reports whether one more deadline, which is not before those before it, can be met with all of those.
func (s *Supply) Meet(deadline int64) bool {
	for s.begun < len(s.Slots) && s.Slots[s.begun].At <= deadline {
		s.begun++
	}
	s.demand++
	return s.begun >= s.demand
}
