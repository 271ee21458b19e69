// Package console is what every command of torture has: the streams and the context, colours and the status line, the
// rules of flags, and the names that a user may have meant.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zktorture/zktorture/internal/escape"
)

// Exit statuses.
const (
	ExitOK        = 0 // no violation
	ExitViolation = 1
	ExitUnknown   = 2 // unknown, or an error
)

// VerdictError ends a command with a status other than 0. It prints nothing.
type VerdictError int

func (e VerdictError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Streams are the outputs of commands. Text written to the first two is untrusted; it is escaped before it reaches a
// terminal.
type Streams struct {
	Stdout, Stderr io.Writer
	Terminal       bool // standard error is one
	Color          bool // standard output is to be coloured

	Interactive bool     // a user reads standard output and types standard input
	Self        string   // how to call this command again …
	Base        string   // … and from which folder that sees files
	MainFile    string   // where this program's function main stands
	Args        []string // the command line, without the program
	Bare        screen   // for colours and lines that are drawn again
}

// screen is the unguarded output. Only text of this program's own may be written to it.
type screen struct{ Stdout, Stderr io.Writer }

// Guarded puts a guard before both.
func (s Streams) Guarded() (guarded Streams, out *escape.Writer) {
	out = escape.NewWriter(s.Stdout)
	s.Bare = screen{s.Stdout, s.Stderr}
	s.Stdout, s.Stderr = out, escape.NewWriter(s.Stderr)
	if s.Color {
		s.Stdout = painted{out, s.Bare.Stdout}
	}
	return s, out
}

// Context is the context of every command.
type Context struct {
	context.Context
	Streams
}

// End ends a command that has printed its findings, with a status and an error from besides. A violation remains a
// violation.
func (c *Context) End(exit int, trouble error) error {
	switch {
	case exit == ExitOK:
		return trouble
	case trouble != nil:
		Fail(c.Streams, trouble)
	}
	return VerdictError(exit)
}

func Status(s Streams, err error) int {
	var verdict VerdictError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &verdict):
		return int(verdict)
	}
	return Fail(s, err)
}

func Fail(s Streams, err error) int {
	fmt.Fprintf(s.Stderr, "torture: %v\n", err)
	return ExitUnknown
}
