// Package thorough tells tests how much to take.
package thorough

import "os"

// All tells whether tests take all that there is to take (make thorough). In make test they take a little.
func All() bool { return os.Getenv("ZKTORTURE_THOROUGH") == "all" }

// Of is how much a test takes.
func Of[T any](little, all T) T {
	if All() {
		return all
	}
	return little
}
