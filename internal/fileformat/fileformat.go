// Package fileformat names the types of files and JSON outputs that their packages do not export, for the schemas of
// docs/reference.
package fileformat

import "reflect"

var types = map[string]reflect.Type{}

// Register names the type T.
func Register[T any](name string) { types[name] = reflect.TypeFor[T]() }

// Type returns the type of a name, nil if there is none.
func Type(name string) reflect.Type { return types[name] }
