package perfetto

// The two kinds of traces.
var (
	History = writeHistory
	Story   = writeStory
)
