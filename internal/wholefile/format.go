package wholefile

import "reflect"

// types are those of files and JSON outputs that their packages do not export, for the schemas of docs/reference.
var types = map[string]reflect.Type{}

// NameFormat names the type T.
func NameFormat[T any](name string) { types[name] = reflect.TypeFor[T]() }

// Format returns the type of a name, nil if there is none.
func Format(name string) reflect.Type { return types[name] }
