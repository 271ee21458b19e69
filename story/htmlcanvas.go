package story

import (
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"
)

// canvas collects the shapes of an SVG picture. The style sheet sets colours and strokes, by class.
type canvas struct{ out strings.Builder }

// tag adds an element with its attributes, given as name, value, name, value. Numbers are rounded to a tenth. All
// text is escaped.
func (c *canvas) tag(name, text string, attributes ...any) {
	c.out.WriteByte('<')
	c.out.WriteString(name)
	for i := 0; i+1 < len(attributes); i += 2 {
		fmt.Fprintf(&c.out, ` %s="%s"`, attributes[i], html.EscapeString(attribute(attributes[i+1])))
	}
	if text == "" {
		c.out.WriteString("/>")
		return
	}
	c.out.WriteString(">" + html.EscapeString(text) + "</" + name + ">")
}

func attribute(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(float64(int(f*10+0.5))/10, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// open begins a group with a title, shown when the pointer hovers over it.
func (c *canvas) open(class, title string) {
	c.out.WriteString(`<g class="` + html.EscapeString(class) + `">`)
	if title != "" {
		c.tag("title", title)
	}
}

func (c *canvas) close() { c.out.WriteString("</g>") }

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.tag("line", "", "class", class, "x1", x1, "y1", y1, "x2", x2, "y2", y2)
}

func (c *canvas) rect(class string, x, y, width, height, radius float64) {
	c.tag("rect", "", "class", class, "x", x, "y", y, "width", max(width, 1), "height", max(height, 1), "rx", radius)
}

func (c *canvas) text(class string, x, y float64, text string) {
	if text != "" {
		c.tag("text", text, "class", class, "x", x, "y", y)
	}
}

// cross marks a loss.
func (c *canvas) cross(x, y float64) {
	c.tag("path", "", "class", "lost cross", "d", fmt.Sprintf("M%.1f %.1fl9 9m0 -9l-9 9", x-4.5, y-4.5))
}

// bolt marks a fault.
func (c *canvas) bolt(x, y float64) {
	c.tag("path", "", "class", "bolt", "d", fmt.Sprintf("M%.1f %.1fl-6 10h5l-3 8l8 -11h-5l3 -7z", x+1, y-9))
}

// svg wraps the shapes. The label is for screen readers.
func (c *canvas) svg(id, label string, width, height float64) template.HTML {
	viewBox := fmt.Sprintf("0 0 %s %s", attribute(width), attribute(height))
	style := fmt.Sprintf("min-width:%spx;max-width:%spx", attribute(width*shrinkMost), attribute(width*growMost))
	hidden := ""
	if id == "folded" {
		hidden = " hidden"
	}
	return template.HTML(fmt.Sprintf(
		`<svg id="%s"%s class="picture" role="img" aria-label="%s" viewBox="%s" style="%s">%s</svg>`,
		id, hidden, html.EscapeString(label), viewBox, style, c.out.String()))
}

// shrinkMost is the smallest scale of a picture. Below it the picture scrolls.
const shrinkMost = 0.8

// growMost is the largest scale.
const growMost = 1.2

// Widths of a character in the pictures, about: more than in the usual fonts.
const (
	glyphWidth = 7.2
	boldGlyph  = 8.2
)

func textWidth(text string) float64 { return float64(length(text)) * glyphWidth }

func boldWidth(text string) float64 { return float64(length(text)) * boldGlyph }

// widest is the width of the longest of lines in bold.
func widest(lines []string) (width float64) {
	for _, line := range lines {
		width = max(width, boldWidth(line))
	}
	return width
}
