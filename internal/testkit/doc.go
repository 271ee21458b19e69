// Package testkit is what tests of several packages share: how they wait for what happens (await.go), how much they take
// (worlds.go, thorough.go), pages and what is generated from code (documents.go, commands.go, generated.go), classes of
// fields (classed.go), scenes in text (scenes.go), and TLS (tls.go).
package testkit
