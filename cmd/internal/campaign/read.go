package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/zktorture/zktorture/internal/wholefile"
)

// ReadPlan reads the file of a plan and checks it. The error says in a line what is wrong, and what to do. Of a plan
// with a Main it does not check the names of kinds and recipes, which only that program knows. A pipe is waited for
// until the context ends.
func ReadPlan(ctx context.Context, path string) (*Plan, error) {
	text, err := wholefile.Read(ctx, path, planMax)
	if err != nil {
		return nil, err
	}
	p, err := ParsePlan(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// planMax is how many bytes a plan may have.
const planMax = 64 << 20

// ParsePlan is [ReadPlan] for the content of a file.
func ParsePlan(text []byte) (*Plan, error) {
	s := strict{text: text, in: json.NewDecoder(bytes.NewReader(text))}
	err := s.value("the plan", reflect.TypeFor[Plan]())
	if _, more := s.in.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = s.at(errors.New("something follows the plan: a file has one"))
	}
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, err
	}
	if p.Main != "" {
		return p, p.check()
	}
	_, err = p.resolve()
	return p, err
}

// strict reads JSON and finds fields that nobody reads, and values of another type, with the lines in which they stand.
type strict struct {
	text []byte
	in   *json.Decoder
}

// at adds the line that was read last to an error.
func (s *strict) at(err error) error {
	return fmt.Errorf("line %d: %w", 1+bytes.Count(s.text[:s.in.InputOffset()], []byte("\n")), err)
}

// value reads a value, and checks it if it is made of this package's objects.
func (s *strict) value(name string, t reflect.Type) error {
	switch {
	case t.Kind() == reflect.Struct:
		return s.object(name, t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return s.list(name, t.Elem())
	}
	err := s.in.Decode(reflect.New(t).Interface())
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		err = fmt.Errorf("%s: it is a %s, and %s is wanted", name, wrong.Value, wanted(t))
	}
	return s.problem(name, err)
}

// problem is an error of the decoder with its line.
func (s *strict) problem(name string, err error) error {
	switch syntax := new(json.SyntaxError); {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return s.at(fmt.Errorf("%s: the file is cut off here", name))
	case errors.As(err, &syntax):
		return s.at(fmt.Errorf("%s: this is not JSON: %w", name, err))
	}
	return s.at(err)
}

// wanted says what a value of a type is called in JSON.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Uint64:
		return "a whole number"
	case reflect.Slice:
		return "a list: […]"
	}
	return "an object: {…}"
}

func (s *strict) open(name string, wants json.Delim, t reflect.Type) error {
	token, err := s.in.Token()
	if err == nil && token != wants {
		err = fmt.Errorf("%s: %s is wanted", name, wanted(t))
	}
	return s.problem(name, err)
}

func (s *strict) list(name string, of reflect.Type) error {
	if err := s.open(name, '[', reflect.SliceOf(of)); err != nil {
		return err
	}
	for i := 0; s.in.More(); i++ {
		if err := s.value(fmt.Sprintf("%s[%d]", name, i), of); err != nil {
			return err
		}
	}
	_, err := s.in.Token()
	return s.problem(name, err)
}

func (s *strict) object(name string, t reflect.Type) error {
	if err := s.open(name, '{', t); err != nil {
		return err
	}
	fields, said := fieldsOf(t), map[string]bool{}
	for s.in.More() {
		token, err := s.in.Token()
		if err != nil {
			return s.problem(name, err)
		}
		key := token.(string)
		field, known := fields[key]
		switch {
		case !known:
			return s.at(fmt.Errorf("unknown field %q in %s: there are %s", key, name, strings.Join(namesOf(t), ", ")))
		case said[key]:
			return s.at(fmt.Errorf("%s is there twice: leave one out", key))
		}
		said[key] = true
		if err := s.value(key, field); err != nil {
			return err
		}
	}
	_, err := s.in.Token()
	return s.problem(name, err)
}

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			fields[name] = f.Type
		}
	}
	return fields
}

// namesOf lists the fields of an object in their order.
func namesOf(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// MarshalText writes a duration as [time.Duration.String] does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what [time.ParseDuration] reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration: write it as 30s, 10m or 8h", text)
	}
	*d = Duration(parsed)
	return nil
}

// String is as [time.Duration.String].
func (d Duration) String() string { return time.Duration(d).String() }
