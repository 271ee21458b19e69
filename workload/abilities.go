package workload

import (
	"reflect"
	"slices"
	"sync"
)

// What a recipe can do beside what its kind asks of it is in one list: the fields of a struct of interfaces, such as
// [lockRecipe]. Embedded is what the kind asks, each other field is optional. Nothing else asks a recipe what it can
// do.

// able returns a recipe with what it can do. Fields of R are nil that it does not implement, or is [Without]. A recipe
// that stands for another one says itself which of its methods that has.
func able[R any](t *terms, recipe any) (r R) {
	is, all := reflect.ValueOf(recipe), reflect.ValueOf(&r).Elem()
	proxy, says := recipe.(interface{ HasMethod(name string) bool })
	for _, a := range abilitiesOf(is.Type(), all.Type()) {
		if a.optional && (t.hides(a.of) || says && !proxy.HasMethod(a.of.Method(0).Name)) {
			continue
		}
		all.FieldByIndex(a.at).Set(is)
	}
	return r
}

// ability is an interface in a struct.
type ability struct {
	of       reflect.Type
	at       []int // its field
	optional bool
}

// abilities are those of types of recipes that were asked for, by the type and that of the struct. To ask each recipe
// would be a twentieth of the work of an episode.
var abilities sync.Map

// abilitiesOf lists the interfaces in a struct that a type of recipes implements.
func abilitiesOf(recipe, all reflect.Type) (can []ability) {
	key := [2]reflect.Type{recipe, all}
	if before, known := abilities.Load(key); known {
		return before.([]ability)
	}
	eachAbility(all, nil, func(a ability) {
		if recipe.Implements(a.of) {
			can = append(can, a)
		}
	})
	abilities.Store(key, can)
	return can
}

// hides reports whether the recipe is said to be without a method of an interface.
func (t *terms) hides(of reflect.Type) bool {
	return slices.ContainsFunc(t.without, func(method string) bool {
		_, has := of.MethodByName(method)
		return has
	})
}

// eachAbility calls f with the interfaces in a struct.
func eachAbility(all reflect.Type, at []int, f func(ability)) {
	for i := range all.NumField() {
		field, at := all.Field(i), append(slices.Clone(at), i)
		if field.Type.Kind() == reflect.Struct {
			eachAbility(field.Type, at, f)
		} else {
			f(ability{field.Type, at, !field.Anonymous})
		}
	}
}

// optionally lists the methods that R says are optional.
func optionally[R any]() (methods []string) {
	eachAbility(reflect.TypeFor[R](), nil, func(a ability) {
		for i := range a.of.NumMethod() {
			if a.optional {
				methods = append(methods, a.of.Method(i).Name)
			}
		}
	})
	return methods
}

type (
	loser   interface{ Lost() <-chan struct{} }
	owner   interface{ IsOwner() bool }
	tokener interface{ Token() int64 }

	// believer reports whether what it holds is still its own.
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
