//go:build !zktexact

package sim

// exactBuild tells whether this was built with the runtime that package internal/exact makes.
const exactBuild = false

// WireNote says what is different about runs over the wire.
const WireNote = "over the wire the Go scheduler decides inside of go-zookeeper, so that equal choices may give " +
	"another run: a replay may need several tries, or --exact"

func exactBegin(*exactTape) {}
