package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/zktorture/zktorture/cmd/torture/serving"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live"
)

// records are what is written as a line of JSON, by the names that documents give.
var records = map[string]reflect.Type{
	"ready":        reflect.TypeFor[serving.Ready](),
	"strike":       reflect.TypeFor[strike.Strike](),
	"live strike":  reflect.TypeFor[live.Strike](),
	"server fault": reflect.TypeFor[live.ServerStrike](),
}

// record fails if a line is not what is written of its type: no other fields, in the same order.
func (d *document) record(names, body string) {
	types := strings.Split(names, ", ")
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	if len(lines) != len(types) {
		d.t.Errorf("there are %d lines, of %q", len(lines), types)
		return
	}
	for i, line := range lines {
		if again, err := rewritten(types[i], line); err != nil || again != line {
			d.t.Errorf("of type %q no such line is written (%v), but\n%s\n%s", types[i], err, again, line)
		}
	}
}

// rewritten reads a line, and writes what it says.
func rewritten(name, line string) (string, error) {
	value := reflect.New(records[name])
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value.Interface()); err != nil {
		return "", err
	}
	var again bytes.Buffer
	encoder := json.NewEncoder(&again)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value.Interface())
	return strings.TrimSuffix(again.String(), "\n"), err
}
