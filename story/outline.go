package story

// Entry is an event in words, for programs that show a story in a way of their own.
type Entry struct {
	Event int    // index into the story's events
	Text  string // with short names of znodes and sessions; ">" begins a call, "<" a return, "!" a fault
	Code  string // the line that sent the request, and what called it
}

// begins are the marks of events, as traces have them.
var begins = map[Kind]string{kindCall: "> ", kindReturn: "< ", kindFault: "! "}

// entry is an event in words, with its mark.
func (s *Story) entry(e Event) string { return begins[e.Kind] + prose{s}.wordsOfUser(e) }

// Outline lists the events that are worth a line. A story with cycles is to be folded before, see [Story.Folded].
func (s *Story) Outline() (entries []Entry) {
	for i, e := range s.Events {
		if !s.silent(i) {
			entries = append(entries, Entry{i, s.entry(e), e.stack()})
		}
	}
	return entries
}

// Sentence is the verdict's message with short names of znodes and sessions.
func (s *Story) Sentence() string { return prose{s}.short(s.Message) }
