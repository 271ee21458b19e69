package workload

import (
	"reflect"
	"slices"
)

// What a recipe can do beside what its kind asks of it is in one list: the fields of a struct of interfaces, such as
// [lockRecipe]. Embedded is what the kind asks, each other field is optional. Nothing else asks a recipe what it can
// do.

// able returns a recipe with what it can do. Fields of R are nil that it does not implement, or is [Without].
func able[R any](t *terms, recipe any) (r R) {
	is := reflect.ValueOf(recipe)
	eachAbility(reflect.ValueOf(&r).Elem(), func(field reflect.Value, optional bool) {
		if is.Type().Implements(field.Type()) && !(optional && t.hides(field.Type())) {
			field.Set(is)
		}
	})
	return r
}

// hides tells whether the recipe is said to be without a method of an interface.
func (t *terms) hides(of reflect.Type) bool {
	return slices.ContainsFunc(t.without, func(method string) bool {
		_, has := of.MethodByName(method)
		return has
	})
}

// eachAbility calls f with the interfaces in a struct, and says which are optional.
func eachAbility(r reflect.Value, f func(field reflect.Value, optional bool)) {
	for i := range r.NumField() {
		if field := r.Field(i); field.Kind() == reflect.Struct {
			eachAbility(field, f)
		} else {
			f(field, !r.Type().Field(i).Anonymous)
		}
	}
}

// optionally lists the methods that R says are optional.
func optionally[R any]() (methods []string) {
	eachAbility(reflect.ValueOf(new(R)).Elem(), func(field reflect.Value, optional bool) {
		for i := range field.Type().NumMethod() {
			if optional {
				methods = append(methods, field.Type().Method(i).Name)
			}
		}
	})
	return methods
}

type (
	loser   interface{ Lost() <-chan struct{} }
	owner   interface{ IsOwner() bool }
	tokener interface{ Token() int64 }

	// believer tells whether what it holds is still its own.
	believer struct {
		Loser loser
		Owner owner
	}

	// holder tells also by which token it was got.
	holder struct {
		Tokens tokener
		believer
	}
)
