// Package replay has counterexamples: a run in a file, what running it again gives, and from which of its steps on what broke
// was hard to avoid.
package replay
