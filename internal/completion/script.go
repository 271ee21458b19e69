package completion

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Shells are the shells that there are scripts for.
var Shells = []string{"bash", "zsh", "fish"}

//go:embed complete.bash
var bash string

//go:embed complete.zsh
var zsh string

//go:embed complete.fish
var fish string

// Script is the script that completes the command lines of a program in a shell. The program has to have a command
// complete, whose arguments are the words after the program, and whose output is that of [Answer.Write].
func Script(shell, program string) (string, error) {
	i := slices.Index(Shells, shell)
	if i < 0 {
		return "", fmt.Errorf("there is no completion for the shell %q: there is for %s", shell, strings.Join(Shells, ", "))
	}
	if !plain.MatchString(program) {
		return "", fmt.Errorf("the name of the program, %q, has characters that mean something to a shell", program)
	}
	function := strings.NewReplacer("-", "_", ".", "_").Replace(program)
	return strings.NewReplacer("@PROGRAM@", program, "@FUNCTION@", function).Replace([]string{bash, zsh, fish}[i]), nil
}

// plain are names that mean nothing to a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
