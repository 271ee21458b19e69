package histories

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Package encoding/json accepts what a history file must not have: it turns invalid text into U+FFFD, so that
// different values become equal; it takes the last of two fields of one name; and it takes Client for client. These
// are refused.

// strictText returns what is no text in a line that is JSON otherwise.
func strictText(line []byte) error {
	if !utf8.Valid(line) {
		return fmt.Errorf("not valid UTF-8 at byte %d; encode what is not text, in hexadecimal for example",
			1+invalidAt(line))
	}
	for i := bytes.IndexByte(line, '\\'); i >= 0 && i < len(line); i++ {
		if line[i] != '\\' {
			continue
		}
		i++ // whatever is escaped is no backslash that escapes
		unit := escapedUnit(line[i-1:])
		if !utf16.IsSurrogate(unit) {
			continue
		}
		if utf16.DecodeRune(unit, escapedUnit(line[i+5:])) == utf8.RuneError {
			return fmt.Errorf("%s is half of a surrogate pair, and no character; encode what is not text, in "+
				"hexadecimal for example", line[i-1:i+5])
		}
		i += 6
	}
	return nil
}

// invalidAt returns where text stops being valid UTF-8.
func invalidAt(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}

// escapedUnit returns the unit of UTF-16 that text begins with if it begins with \u and four digits, or 0.
func escapedUnit(text []byte) rune {
	const length = 6
	if len(text) < length || text[1] != 'u' || text[0] != '\\' {
		return 0
	}
	n, err := strconv.ParseUint(string(text[2:length]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}

// fieldNames are the fields of an operation.
var fieldNames = []string{"client", "op", "arg", "result", "outcome", "call", "return", "object", "note", "process"}

// strictFields returns which field of an operation is there twice, or written in another case.
func strictFields(line []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return nil // null, of which all is missing
	}
	var seen []string
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if slices.Contains(seen, name) {
			return fmt.Errorf("the field %q is there twice", name)
		}
		if !slices.Contains(fieldNames, name) {
			return fmt.Errorf("an operation has no field %q; it is written %q", name, strings.ToLower(name))
		}
		seen = append(seen, name)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
	}
	return nil
}
