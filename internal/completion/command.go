package completion

import (
	"io"

	"github.com/alecthomas/kong"
)

// Program is the name with which a program is called.
type Program string

// ScriptCmd is the command completion of a program. The program binds its [Program].
type ScriptCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish."`
}

// Run executes the command.
func (c *ScriptCmd) Run(k *kong.Context, name Program) error {
	script, err := Script(c.Shell, string(name))
	if err != nil {
		return err
	}
	_, err = io.WriteString(k.Stdout, script)
	return err
}

// Cmd is the command complete of a program, which the scripts call. The program binds its [Source].
type Cmd struct {
	Words []string `arg:"" optional:"" help:"The words of the command line after the program; the last is completed."`
}

// Run executes the command.
func (c *Cmd) Run(k *kong.Context, values Source) error {
	return Candidates(k.Model, c.Words, values).Write(k.Stdout)
}

// Values is a [Source] by names. A name may have the command before it: "run --recipe" comes before "--recipe".
type Values map[string]func(*Line) Answer

// Of is the source.
func (v Values) Of(line *Line, name string) Answer {
	for _, key := range []string{line.Command.Path() + " " + name, name} {
		if values := v[key]; values != nil {
			return values(line)
		}
	}
	return Answer{}
}

// Names are values that never change.
func Names(names ...string) func(*Line) Answer {
	var answer Answer
	for _, name := range names {
		answer.Words = append(answer.Words, Candidate{Word: name})
	}
	return func(*Line) Answer { return answer }
}

// Any are names of files.
func Any(kind Files) func(*Line) Answer { return func(*Line) Answer { return Answer{Files: kind} } }

// Commands are the names of the program's commands.
func Commands(line *Line) Answer {
	program := line.Command
	for program.Parent != nil {
		program = program.Parent
	}
	return Answer{Words: children(program)}
}
