package sim

import "os"

// Thorough tells whether tests take all that there is to take (make thorough). In make test they take a little.
func Thorough() bool { return os.Getenv("ZKTORTURE_THOROUGH") == "all" }

// OrAll is how much a test takes.
func OrAll[T any](little, all T) T {
	if Thorough() {
		return all
	}
	return little
}
