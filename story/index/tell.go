package index

import (
	"fmt"

	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/story"
)

// tell makes the page of a file's story beside it, and returns its name. The page's name contains the file's whole
// name, so it is unique and never that of the index.
func (b *builder) tell(name string, told func() (*story.Story, error)) (string, error) {
	if b.stories++; b.stories > storiesMax {
		return "", fmt.Errorf("its page is not made: %d stories are the most", storiesMax)
	}
	s, err := told()
	if err != nil {
		return "", err
	}
	return name + ".html", wholefile.WriteBy(b.path(name+".html"), s.HTML)
}

func (b *builder) progress(name string) {
	if b.options.Progress != nil {
		b.options.Progress(b.path(name))
	}
}
