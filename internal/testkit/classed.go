package testkit

import (
	"reflect"
	"strings"
	"testing"
)

// Hashed is the class of fields that are in the hash of a state.
const Hashed = "hashed"

// FieldsAreClassed fails the test unless each field of a struct type is in exactly one class. Keys are names of fields with spaces
// between them; values are [Hashed], perhaps with more about it, or why the field need not be in the hash: "constant",
// "follows: from what", "scratch: of what".
func FieldsAreClassed(t *testing.T, of reflect.Type, classes map[string]string) {
	t.Helper()
	class := map[string]string{}
	for names, why := range classes {
		word, _, _ := strings.Cut(why, ":")
		if word != "constant" && word != "follows" && word != "scratch" && !strings.HasPrefix(why, Hashed) {
			t.Errorf("%v: %q is no class", of, why)
		}
		for name := range strings.FieldsSeq(names) {
			if class[name] != "" {
				t.Errorf("%v.%s is in two classes", of, name)
			}
			if _, there := of.FieldByName(name); !there {
				t.Errorf("%v has no field %s", of, name)
			}
			class[name] = why
		}
	}
	for i := range of.NumField() {
		if name := of.Field(i).Name; class[name] == "" {
			t.Errorf("%v.%s is in no class: does what can happen, or what judges say of it, depend on it? "+
				"Then add it to the hash of the state; else say here why not", of, name)
		}
	}
}
