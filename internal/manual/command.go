package manual

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/internal/version"
	"github.com/zktorture/zktorture/internal/wholefile"
)

// Cmd is the command man of a program. The program binds its [Manual].
type Cmd struct {
	Command string `arg:"" optional:"" help:"The command. Default: the program itself."`
	Out     string `placeholder:"DIR" help:"Write the page of every command to this folder, as PROGRAM-COMMAND.1."`
}

// Run executes the command.
func (c *Cmd) Run(k *kong.Context, m Manual) error {
	pages, err := Pages(k.Model, m)
	if err != nil {
		return err
	}
	if c.Out != "" {
		return write(c.Out, pages)
	}
	for _, p := range pages {
		if p.Name == strings.TrimSpace(k.Model.Name+" "+c.Command) {
			_, err := io.WriteString(k.Stdout, p.Man(edition()))
			return err
		}
	}
	return fmt.Errorf("there is no command %q: %s --help lists them", c.Command, k.Model.Name)
}

// edition is what the pages say of this program's version.
func edition() Edition {
	v, day := version.Short()
	return Edition{Version: v, Date: day}
}

func write(dir string, pages []Page) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range pages {
		if err := wholefile.Write(filepath.Join(dir, p.File()+".1"), []byte(p.Man(edition()))); err != nil {
			return err
		}
	}
	return nil
}

// With adds what the manual says of the commands of this package and of package completion.
func With(program string, m Manual) Manual {
	done := []Status{{0, "It was printed or written."}, {2, "There was an error."}}
	eval := func(shell string) string { return fmt.Sprintf(`eval "$(%s completion %s)"`, program, shell) }
	m["man"] = Entry{Statuses: done, Examples: []Example{
		{Meaning: "Read the man page of the program.", Unrun: true, Line: program + " man | man -l -"},
		{Meaning: "Write all man pages to a folder.", Line: program + " man --out man1"},
	}}
	m["completion"] = Entry{Statuses: done, Examples: []Example{
		{Meaning: "Complete in bash: put this line into ~/.bashrc.", Unrun: true, Line: eval("bash")},
		{Meaning: "Complete in zsh: put this line into ~/.zshrc, after compinit.", Unrun: true, Line: eval("zsh")},
		{Meaning: "Complete in fish: put this line into ~/.config/fish/config.fish.", Unrun: true,
			Line: program + " completion fish | source"},
	}}
	return m
}
