package perfetto

// The kinds of traces.
var (
	History = writeHistory
	Run     = ofRun
	Story   = writeStory
)
