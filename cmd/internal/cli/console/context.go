// Package console is what every command of torture has: the streams and the context, colours and the status line, the
// rules of flags, and the names that a user may have meant.
package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/zktorture/zktorture/internal/escape/stream"
	"github.com/zktorture/zktorture/sim"
)

// Exit statuses.
const (
	ExitOK        = 0 // no violation
	ExitViolation = 1
	ExitUnknown   = 2 // unknown, or an error
)

// Exits are the exit statuses of verdicts.
var Exits = map[sim.Verdict]int{
	sim.VerdictOK: ExitOK, sim.VerdictViolation: ExitViolation, sim.VerdictUnknown: ExitUnknown,
}

// VerdictError ends a command with a status other than 0. It prints nothing.
type VerdictError int

func (e VerdictError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Streams are the outputs of commands. Text written to the first two is untrusted; it is escaped before it reaches a
// terminal.
type Streams struct {
	Stdout, Stderr io.Writer
	Terminal       bool // standard error is one
	Color          bool // standard output is to be coloured

	Name        string   // of this command, in errors; "": torture
	Foreign     bool     // recipes of a user's own may run in this process
	Interactive bool     // a user reads standard output and types standard input
	Self        string   // how to call this command again
	MainFile    string   // where this program's function main stands
	Args        []string // the command line, without the program
	Bare        screen   // for colours and lines that are drawn again
}

// Begin makes a process that command: its context ends at a signal, which a second one does not wait for. mainFile is the
// source of the program's main.
func Begin(mainFile string) (context.Context, Streams) {
	log.SetOutput(stream.NewWriter(os.Stderr)) // of libraries
	fit(os.Stdout)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	interactive := IsTerminal(os.Stdin) && IsTerminal(os.Stdout)
	out, err := claim()
	if err != nil { // it is closed
		out = os.Stdout
	}
	s := Streams{Stdout: out, Stderr: os.Stderr, Terminal: IsTerminal(os.Stderr),
		Color: WantsColor(os.Getenv, IsTerminal(out)), Interactive: interactive}
	s.MainFile = cmp.Or(os.Getenv(mainVariable), mainFile)
	s.Self = selfOf(os.Args[0], s.MainFile)
	if self := os.Getenv(selfVariable); self != "" {
		s.Self = self
	}
	return ctx, s
}

// screen is the unguarded output. Only text of this program's own may be written to it.
type screen struct{ Stdout, Stderr io.Writer }

// Guarded puts a guard before both.
func (s Streams) Guarded() (guarded Streams, out *stream.Writer) {
	out = stream.NewWriter(s.Stdout)
	s.Bare = screen{s.Stdout, s.Stderr}
	s.Stdout, s.Stderr = out, stream.NewWriter(s.Stderr)
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

// packages are those whose errors begin with their names.
var packages = regexp.MustCompile(`(^|: )(?:ensemble|histories|live|zkclient): `)

// Fail prints an error, without what Go calls its reasons.
func Fail(s Streams, err error) int {
	text := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		text = strings.ReplaceAll(text, context.DeadlineExceeded.Error(), "there was no answer in time")
	}
	if errors.Is(err, io.EOF) {
		text = strings.ReplaceAll(text, ": EOF", ": the other side has closed the connection")
	}
	if missing := new(exec.Error); errors.As(err, &missing) && errors.Is(err, exec.ErrNotFound) {
		text = strings.ReplaceAll(text, missing.Error(), missing.Name+" is not installed, or not in PATH")
	}
	name, number := new(net.DNSError), syscall.Errno(0)
	if op := new(net.OpError); errors.As(err, &op) && errors.As(op, &name) && name.IsNotFound {
		text = strings.ReplaceAll(text, op.Error(), "there is no host "+name.Name)
	} else if op.Addr != nil && errors.As(op, &number) {
		text = strings.ReplaceAll(text, op.Error(), op.Addr.String()+": "+number.Error())
	}
	fmt.Fprintf(s.Stderr, "%s: %s\n", cmp.Or(s.Name, "torture"), packages.ReplaceAllString(text, "$1"))
	return ExitUnknown
}
