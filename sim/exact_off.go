//go:build !zktexact

package sim

// exactBuild tells whether this was built with the runtime that package internal/exact makes.
const exactBuild = false

func exactBegin(*exactTape) {}
