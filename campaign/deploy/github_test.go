package deploy

import (
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// The files that GitHub and goreleaser read are YAML, and name no key twice.
func TestConfigurationIsYAML(t *testing.T) {
	names := globbed(t, "../../.github/*/*.yml")
	for _, name := range append(names, "../../.goreleaser.yaml") {
		var content map[string]any
		if readYAML(t, name, &content); len(content) < 2 {
			t.Errorf("%s has %v", name, content)
		}
	}
}

// form is an issue form: docs.github.com, "Syntax for GitHub's form schema".
type form struct {
	Name        string
	Description string
	Labels      []string
	Body        []struct {
		Type        string
		ID          string
		Attributes  struct{ Label, Description, Value, Render string }
		Validations struct{ Required bool }
	}
}

// GitHub shows forms that have a name, a description and fields, each with its own id and a label; others it leaves out.
func TestIssueForms(t *testing.T) {
	for _, name := range globbed(t, "../../.github/ISSUE_TEMPLATE/*.yml") {
		if filepath.Base(name) == "config.yml" {
			continue
		}
		var f form
		readYAML(t, name, &f)
		if f.Name == "" || f.Description == "" || len(f.Labels) == 0 {
			t.Errorf("%s: name, description or labels are missing", name)
		}
		var ids []string
		required := false
		for _, field := range f.Body {
			is := field.Type == "input" || field.Type == "textarea"
			if is && (field.ID == "" || field.Attributes.Label == "" || slices.Contains(ids, field.ID)) {
				t.Errorf("%s: %+v has no label, or no id of its own", name, field)
			}
			if !is && (field.Type != "markdown" || field.Attributes.Value == "") {
				t.Errorf("%s: %+v is not known", name, field)
			}
			ids, required = append(ids, field.ID), required || field.Validations.Required
		}
		if !required {
			t.Errorf("%s asks for nothing", name)
		}
	}
}

func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) < 2 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	return names
}

// readYAML reads a file that has no keys but those of into.
func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(readText(t, name)), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
