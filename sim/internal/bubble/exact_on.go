//go:build zktexact

package bubble

import _ "unsafe" // for go:linkname

// Exact reports whether this was built with the runtime that package internal/cli/exact makes.
const Exact = true

// WireNote says what is different about runs over the wire.
const WireNote = "over the wire, in exact mode: what the Go scheduler decides inside of go-zookeeper is replayed, too"

// Begin makes the caller's bubble exact and the caller its loop, see internal/cli/exact/edits.
//
//go:linkname Begin runtime.exactBegin
func Begin(t *Tape)
