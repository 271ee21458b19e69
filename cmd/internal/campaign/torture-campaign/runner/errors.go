package runner

import (
	"errors"
	"strings"

	"github.com/zktorture/zktorture/internal/escape"
)

// Class says what kept a unit from giving a result.
type Class string

// The classes. See [Class.Counts].
const (
	Frozen      Class = "frozen"        // it took longer than its limit, or a world in it stood still
	Panicked    Class = "panicked"      // its process ended by itself: a panic, a fatal error, os.Exit
	OutOfMemory Class = "out of memory" // its process took more than the plan allows, or than there was
	Failed      Class = "failed"        // its process said that it cannot run it, or said something else than an answer
	Killed      Class = "killed"        // its process was killed from outside, or the runner was told to end it
	NoProgram   Class = "no program"    // its process could not be started, or was not ready
)

// Counts says whether the unit is to blame: whether it counts as one of its tries.
func (c Class) Counts() bool { return c != Killed && c != NoProgram }

// failure says why a question to a child has no answer. Its text is one for people, of some lines at most; it has no
// characters that steer a terminal.
type failure struct {
	Class   Class
	Subject string // as "unit 17"
	Text    string // what happened: as equal for equal mistakes as can be
	Detail  string // where, or how much: differs when it happens again
	Said    string // the first and the last kilobytes of what the child wrote to its standard error
	Crash   []byte // file for torture replay, of the episode in which its process ended; nil if there is none
	Cause   error  // of a context that ended, or of a program that cannot be started
}

// Error implements error.
func (e *failure) Error() string {
	text := string(e.Class)
	if e.Subject != "" {
		text = e.Subject + ": " + text
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	if e.Detail != "" {
		text += "\n" + e.Detail
	}
	return strings.TrimSpace(escape.Text(text))
}

// Unwrap returns the cause.
func (e *failure) Unwrap() error { return e.Cause }

// CrashOf returns what a failure has for torture replay, also one that is wrapped; "": nothing.
func CrashOf(err error) string {
	if e := (*failure)(nil); errors.As(err, &e) {
		return string(e.Crash)
	}
	return ""
}

// ClassOf returns the class of a failure, also of one that is wrapped, and Failed for any other.
func ClassOf(err error) Class {
	if e := (*failure)(nil); errors.As(err, &e) {
		return e.Class
	}
	return Failed
}
