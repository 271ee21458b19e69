package linearizability

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// record is an operation as a line of a history file.
type record struct {
	Client  *int            `json:"client"`
	Op      *string         `json:"op"`
	Arg     Value           `json:"arg"`
	Result  Value           `json:"result"`
	Outcome *Outcome        `json:"outcome"`
	Call    *int64          `json:"call"`
	Return  json.RawMessage `json:"return"`
	Object  string          `json:"object,omitempty"`
	Note    string          `json:"note,omitempty"`
	Process Value           `json:"process,omitzero"`
}

func toRecord(o Operation) (record, error) {
	for _, s := range []string{o.Op, o.Arg.text, o.Result.text, o.Object, o.Process.text} {
		if !utf8.ValidString(s) {
			return record{}, fmt.Errorf("%.40q is not valid UTF-8 and JSON cannot hold it; encode it, in "+
				"hexadecimal for example", s)
		}
	}
	returned := json.RawMessage("null")
	if o.Return != Forever {
		returned = fmt.Appendf(nil, "%d", o.Return)
	}
	return record{
		Client: &o.Client, Op: &o.Op, Arg: o.Arg, Result: o.Result, Outcome: &o.Outcome,
		Call: &o.Call, Return: returned,
		Object: o.Object, Note: strings.ToValidUTF8(o.Note, "\uFFFD"), Process: o.Process,
	}, nil
}

// MarshalJSON implements [json.Marshaler]: the operation as a line of a history file.
func (o Operation) MarshalJSON() ([]byte, error) {
	r, err := toRecord(o)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // whoever marshals o decides that
	err = encoder.Encode(r)
	return line.Bytes(), err
}

// UnmarshalJSON implements [json.Unmarshaler]. Fields that are missing or unknown are errors. Package histories is
// stricter with the lines of files.
func (o *Operation) UnmarshalJSON(data []byte) error {
	var r record
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("there is more after the operation; write one operation a line")
	}
	if err := r.complete(); err != nil {
		return err
	}
	returned := Forever
	if string(r.Return) != "null" {
		if err := json.Unmarshal(r.Return, &returned); err != nil {
			return fmt.Errorf(`"return" is %.40s; write a whole number or null`, r.Return)
		}
	}
	*o = Operation{
		Client: *r.Client, Op: *r.Op, Arg: r.Arg, Result: r.Result, Outcome: *r.Outcome,
		Call: *r.Call, Return: returned, Object: r.Object, Note: r.Note, Process: r.Process,
	}
	return nil
}

// complete returns an error that names the first field that has to be there and is not.
func (r *record) complete() error {
	for _, field := range []struct {
		name    string
		present bool
	}{
		{"client", r.Client != nil}, {"op", r.Op != nil}, {"outcome", r.Outcome != nil},
		{"call", r.Call != nil}, {"return", r.Return != nil},
	} {
		if !field.present {
			return fmt.Errorf("%q is missing; an operation has client, op, outcome, call and return", field.name)
		}
	}
	return nil
}
