// Command torture-explain shows a story in the terminal: it scrolls, searches, folds, and tells the details of a step.
// It is what "torture explain --interactive FILE" starts, and is a module of its own because the library that draws it
// would make torture a tenth larger.
package main

import (
	"fmt"
	"os"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/zktorture/zktorture/internal/plaintext"
	"github.com/zktorture/zktorture/story"
)

const usage = `usage: torture-explain STORY.json

Shows a story in the terminal. torture explain --json FILE > STORY.json writes one, and torture explain --interactive FILE
shows that of a counterexample at once.
`

func main() {
	if len(os.Args) != 2 || os.Args[1] == "-h" || os.Args[1] == "--help" {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := show(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, plaintext.String(fmt.Sprintf("torture-explain: %s: %v", os.Args[1], err)))
		os.Exit(2)
	}
}

// show shows the story in a file until the reader quits.
func show(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	s, err := story.Read(file)
	if err != nil {
		return err
	}
	_, err = tea.NewProgram(newModel(s), tea.WithAltScreen(), tea.WithMouseCellMotion()).Run()
	return err
}
