package escape

import (
	"runtime"
	"strings"
)

// safe are the characters that mean nothing to a shell, beside letters and digits.
const safe = "%+,-./:=@_"

// Shell returns a word as it has to be typed: as it is, or in quotes if a shell would take it apart or replace parts
// of it.
func Shell(word string) string { return quote(word, runtime.GOOS == "windows") }

func quote(word string, windows bool) string {
	switch {
	case windows && word != "" && !strings.ContainsFunc(word, func(r rune) bool { return r != '\\' && special(r) }):
		return word
	case windows:
		return `"` + strings.ReplaceAll(word, `"`, `\"`) + `"`
	case word != "" && !strings.ContainsFunc(word, special):
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func special(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && r < 0x80 && !strings.ContainsRune(safe, r)
}
