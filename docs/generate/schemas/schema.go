package schemas

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/zktorture/zktorture/campaign"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/linearizability"
)

// home is where the schemas are published.
const home = "https://zktorture.github.io/zktorture/reference/schemas/"

// File is the name of the schema's file.
func (f *fileFormat) File() string { return f.Name + ".schema.json" }

// schema makes the schema. A strict one has every field that a document may have; a published one lets later versions
// add some, unless readers refuse them.
func (f *fileFormat) schema(s *source, strict bool) *jsonschema.Schema {
	made := &jsonschema.Schema{Version: jsonschema.Version, ID: jsonschema.ID(home + f.File()), Title: f.Title,
		Definitions: jsonschema.Definitions{}}
	for _, t := range f.Types {
		one := f.reflect(s, t, strict)
		for name, definition := range one.Definitions {
			made.Definitions[name] = definition
		}
		made.OneOf = append(made.OneOf, &jsonschema.Schema{Ref: one.Ref})
	}
	if len(f.Types) == 1 {
		made.Ref, made.OneOf = made.OneOf[0].Ref, nil
	}
	return made
}

func (f *fileFormat) reflect(s *source, t reflect.Type, strict bool) *jsonschema.Schema {
	types := map[string]reflect.Type{}
	r := jsonschema.Reflector{
		AllowAdditionalProperties: !strict && !f.Closed, Anonymous: true, LookupComment: s.of, Mapper: s.mapped,
		Namer: func(t reflect.Type) string {
			if t.Name() == "" {
				return ""
			}
			types[nameOf(t)] = t
			return nameOf(t)
		},
	}
	made := r.ReflectFromType(t)
	for name, definition := range made.Definitions {
		f.finish(definition, types[name], types[name] == t)
	}
	return made
}

// finish adds what the library does not know of a type. Document reports whether it is that of the format's documents.
func (f *fileFormat) finish(s *jsonschema.Schema, t reflect.Type, document bool) {
	if t.Kind() != reflect.Struct {
		return
	}
	if tag, ok := s.Properties.Get("format"); ok && document && f.Tag != "" {
		tag.Const = f.Tag
	}
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return slices.Contains(f.Noted, name) })
	if document && len(s.Required) == 0 {
		some := uint64(1)
		s.MinProperties = &some
	}
	describe(s, t)
	nullable(s, t)
}

// nameOf is unique among the types of all packages.
func nameOf(t reflect.Type) string {
	return t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:] + "." + t.Name()
}

// mapped are the types that say themselves what they are in JSON.
func (s *source) mapped(t reflect.Type) *jsonschema.Schema {
	text := func(pattern, description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Pattern: pattern, Description: description}
	}
	switch t {
	case reflect.TypeFor[strike.Fault](): // a new one is no change of the format
		return text("", "")
	case reflect.TypeFor[campaign.Duration]():
		return text(`^([0-9.]+(h|m|s|ms|us|µs|ns))+$`, "A duration, as 30s, 10m or 8h.")
	case reflect.TypeFor[campaign.Digest]():
		return text("^[0-9a-f]{64}$", "A SHA-256, in hexadecimal.")
	case reflect.TypeFor[outcome]():
		return &jsonschema.Schema{Type: "string", Enum: []any{"ok", "fail", "unknown"}}
	case reflect.TypeFor[value](), reflect.TypeFor[linearizability.Value]():
		return scalar()
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{}
	}
	if values := s.enums[t.PkgPath()+"."+t.Name()]; t.Kind() == reflect.String && len(values) > 0 {
		return &jsonschema.Schema{Type: "string", Enum: values}
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && t != reflect.TypeFor[time.Time]() {
		return text("", "")
	}
	return nil
}

// scalar is an argument or a result in a history.
func scalar() *jsonschema.Schema {
	one := &jsonschema.Schema{}
	for _, kind := range []string{"null", "boolean", "integer", "string"} {
		one.OneOf = append(one.OneOf, &jsonschema.Schema{Type: kind})
	}
	return one
}

// nullable lets what is nil in Go, and not left out, be null.
func nullable(s *jsonschema.Schema, t reflect.Type) {
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		property, ok := s.Properties.Get(name)
		if !ok || options != "" || field.Type.Kind() != reflect.Pointer {
			continue
		}
		description := property.Description
		property.Description = ""
		s.Properties.Set(name, &jsonschema.Schema{Description: description,
			OneOf: []*jsonschema.Schema{property, {Type: "null"}}})
	}
}
