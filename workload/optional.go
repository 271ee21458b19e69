package workload

import "context"

// can returns a recipe as something that its kind does not ask of it, and reports whether the recipe has that method. A
// recipe that stands for another one says itself which of its methods that has.
func can[I any](recipe any, method string) (as I, has bool) {
	if proxy, says := recipe.(interface{ HasMethod(name string) bool }); says && !proxy.HasMethod(method) {
		return as, false
	}
	as, has = recipe.(I)
	return as, has
}

type (
	loser   interface{ Lost() <-chan struct{} }
	owner   interface{ IsOwner() bool }
	tokener interface{ Token() int64 }
)

// trying is a method that takes something if that is possible without waiting; nil of a recipe that has none.
type trying = func(context.Context) (bool, error)

// believer reports whether what it holds is still its own: nil is what it cannot.
type believer struct {
	loser loser
	owner owner
}

func believerOf(recipe any) (b believer) {
	b.loser, _ = can[loser](recipe, "Lost")
	b.owner, _ = can[owner](recipe, "IsOwner")
	return b
}

// holder tells also by which token it was got.
type holder struct {
	believer
	tokens tokener
}

func holderOf(recipe any) holder {
	tokens, _ := can[tokener](recipe, "Token")
	return holder{believerOf(recipe), tokens}
}
