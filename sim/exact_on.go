//go:build zktexact

package sim

import _ "unsafe" // for go:linkname

// exactBuild tells whether this was built with the runtime that package internal/exact makes.
const exactBuild = true

// WireNote says what is different about runs over the wire.
const WireNote = "over the wire, in exact mode: what the Go scheduler decides inside of go-zookeeper is replayed, too"

// exactBegin makes the caller's bubble exact and the caller its loop, see internal/exact/edits.
//
//go:linkname exactBegin runtime.exactBegin
func exactBegin(t *exactTape)
