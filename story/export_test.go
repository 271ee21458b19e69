package story

// Tree returns the paths of the znodes that are there after a step, with the indices of their lives.
func (s *Story) Tree(step int64) (there []Placed) {
	for i, z := range s.Znodes {
		for j, l := range z.Lives {
			if l.From <= step && (l.Until < 0 || step < l.Until) {
				there = append(there, Placed{i, j})
			}
		}
	}
	return there
}

// Placed is a znode in one of its lives.
type Placed struct {
	Znode, Life int
}

// New makes the story of a replay.
var New = fromReplay

// Cycles finds what repeats in a list of events.
func Cycles(events []Event) []Cycle { return cycles(events) }
