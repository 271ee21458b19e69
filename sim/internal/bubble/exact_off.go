//go:build !zktexact

package bubble

// Exact reports whether this was built with the runtime that package internal/cli/exact makes.
const Exact = false

// WireNote says what is different about runs over the wire.
const WireNote = "over the wire the Go scheduler decides inside of go-zookeeper, so that equal choices may give " +
	"another run: a replay may need several tries, or --exact"

func Begin(*Tape) {}
