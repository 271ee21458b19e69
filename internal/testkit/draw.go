package testkit

import (
	"reflect"

	"pgregory.net/rapid"
)

// Draw fills a struct, to which it is given a pointer, with texts, numbers, truths and short lists. What is an interface
// stays as it is.
func Draw(t *rapid.T, into any) { draw(t, reflect.ValueOf(into).Elem()) }

func draw(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i))
		}
	case reflect.String:
		v.SetString(rapid.StringN(0, 9, -1).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "truth"))
	case reflect.Int32:
		v.SetInt(int64(rapid.Int32().Draw(t, "number")))
	case reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "number"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(t, "byte")))
	case reflect.Slice:
		if n := rapid.IntRange(-1, 4).Draw(t, "length"); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			draw(t, v.Index(i))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem())
		}
	}
}
