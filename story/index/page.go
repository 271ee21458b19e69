package index

import (
	_ "embed" // embeds the layout and its style
	"fmt"
	"html/template"
	"io"

	"github.com/zktorture/zktorture/internal/webpage"
)

var (
	//go:embed page/index.html
	layout string
	//go:embed page/index.css
	style string
)

var pageTemplate = template.Must(template.New("index.html").Funcs(template.FuncMap{"count": count}).Parse(layout))

// write writes the page of an index.
func (x *Index) write(w io.Writer) error {
	return pageTemplate.Execute(w, struct {
		*Index
		Style template.CSS
	}{x, template.CSS(webpage.Look + style)})
}

// count prints a whole number, in groups of three digits.
func count(n any) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
