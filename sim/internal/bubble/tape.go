package bubble

const Kinds = 5

// Tape is how the loop and the Go runtime of an exact build talk: the runtime cannot call a [Source] while it
// schedules goroutines. Before the loop lets goroutines run it hands in what the source would answer; afterwards it takes
// what was decided. The runtime knows the layout, see internal/cli/exact/edits.
type Tape struct {
	Answers [Kinds][]int
	Used    [Kinds]int // how many of answers were used
	One     bool       // answers[0] has those of all kinds, in the order of the questions
	Seed    uint64     // beyond the answers: 0 for the simplest, else what they are drawn from …
	Often   uint64     // … so that of 256 so many may be other than 0
	Made    []exactMade
	Count   int // how many of made there are; once it is full all answers are 0
}

type exactMade struct{ Kind, N, Value uint32 }

// exactMadeMax bounds the decisions between two steps. A goroutine that needs more does not come to rest anyway.
const exactMadeMax = 1 << 14

func NewTape() *Tape {
	t := &Tape{Made: make([]exactMade, exactMadeMax)}
	t.Close()
	return t
}

// Close makes 0 the answer to everything between two steps.
func (t *Tape) Close() { t.Count = len(t.Made) }

// Open forgets what was handed in last.
func (t *Tape) Open() { *t = Tape{Made: t.Made} }
