// Package formats has the types of files and JSON outputs by name.
package formats

import "reflect"

// types are those of files and JSON outputs that their packages do not export, for the schemas of docs/reference.
var types = map[string]reflect.Type{}

// Name names the type T.
func Name[T any](name string) { types[name] = reflect.TypeFor[T]() }

// Of returns the type of a name, nil if there is none.
func Of(name string) reflect.Type { return types[name] }
