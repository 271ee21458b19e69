package torturecli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/zktorture/zktorture/story"
)

// readerProgram shows stories in a terminal. It is a program of its own, as the library that draws it would make this one
// a tenth larger.
const readerProgram = "torture-explain"

// findReader finds the program, before a story is told for nothing.
func findReader(c *commandContext) (string, error) {
	out, ok := c.bare.out.(*os.File)
	if !ok || !isTerminal(out) || !isTerminal(os.Stdin) {
		return "", errors.New("input and output must be a terminal: leave out --interactive, or write a page with --html")
	}
	path, err := exec.LookPath(readerProgram)
	if err != nil {
		return "", fmt.Errorf("--interactive needs the program %s on the PATH: in a checkout of zktorture "+
			"\"go -C %[1]s install .\" installs it", readerProgram)
	}
	return path, nil
}

// interact shows a story until the reader quits.
func interact(c *commandContext, reader string, s *story.Story) error {
	file, err := os.CreateTemp("", "story-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if err := errors.Join(json.NewEncoder(file).Encode(s), file.Close()); err != nil {
		return err
	}
	show := exec.CommandContext(c, reader, file.Name())
	show.Stdin, show.Stdout, show.Stderr = os.Stdin, c.bare.out, c.bare.err
	if err := show.Run(); err != nil {
		return fmt.Errorf("%s: %w", reader, err)
	}
	return nil
}
