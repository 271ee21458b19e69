package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/zktorture/zktorture/internal/manual"
	"github.com/zktorture/zktorture/internal/testkit"
)

// packages are the folders whose types are in the formats.
var packages = []string{"campaign", "campaign/failures", "campaign/torture-campaign/status", "docs/generate/schemas",
	"fakezk/wire/strike", "internal/cli", "internal/cli/about", "internal/cli/output",
	"cmd/torture/serving", "linearizability", "live", "live/ensemble", "live/worker", "sim",
	"sim/internal/cover", "sim/replay", "sim/world", "story", "story/index", "zoo/command"}

// generate returns the schemas, by the names of their files, and the page about them.
func generate(root string) (schemas map[string]string, page string, err error) {
	s, err := readSource(root, packages...)
	if err != nil {
		return nil, "", err
	}
	schemas = map[string]string{}
	var b strings.Builder
	b.WriteString(testkit.Notice + introduction)
	for _, f := range fileFormats {
		made := f.schema(s, false)
		text, err := encode(made)
		if err != nil {
			return nil, "", err
		}
		schemas[f.File()] = text
		f.markdown(&b, made)
	}
	return schemas, b.String(), nil
}

const introduction = `# File formats

Every file and JSON output has a [JSON Schema](https://json-schema.org) (draft 2020-12), made from the Go types. Files
with a field ` + "`format`" + ` name their format and its version there. Later versions may add fields, but not to files whose
readers refuse fields that they do not know; a change that is no addition has another version.
`

func encode(s *jsonschema.Schema) (string, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return text.String(), err
}

// markdown describes the format by the fields of its documents.
func (f *fileFormat) markdown(b *strings.Builder, s *jsonschema.Schema) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", f.Title, manual.Wrap(f.What))
	if f.Tag != "" {
		fmt.Fprintf(b, "Format: `%s`. ", f.Tag)
	}
	if f.Lines {
		b.WriteString("A JSON object a line. ")
	}
	if f.Closed {
		b.WriteString("Unknown fields are refused. ")
	}
	fmt.Fprintf(b, "Schema: [`%s`](schemas/%[1]s).\n", f.File())
	for _, t := range f.Types {
		b.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
		definition := s.Definitions[nameOf(t)]
		for field := definition.Properties.Oldest(); field != nil; field = field.Next() {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", field.Key, kind(s, field.Value), prose(field.Value.Description))
		}
	}
}

var prose = manual.Prose(nil)

// kind names the type of a field for people.
func kind(all, s *jsonschema.Schema) string {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return kind(all, all.Definitions[name])
	}
	switch {
	case s.Const != nil:
		return "constant"
	case s.Type == "array" && s.Items != nil:
		return "list of " + kind(all, s.Items)
	case s.Type != "":
		return s.Type
	case len(s.OneOf) > 0:
		var names []string
		for _, one := range s.OneOf {
			names = append(names, kind(all, one))
		}
		return strings.Join(names, " or ")
	}
	return "any"
}
