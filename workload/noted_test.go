package workload

import (
	"reflect"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

// Kinds for which users contend say that their judges see of an episode only the world, and what is noted with operations.
// So each field that such an episode keeps is hashed with its operations, or follows from what is hashed elsewhere.
func TestWhatContestsKeepIsClassed(t *testing.T) {
	testkit.FieldsAreClassed(t, reflect.TypeFor[Held](), map[string]string{
		"user by op": "constant: of its operation",
		"token tried lost asks denied kept found": testkit.Hashed,
		"sure": testkit.Hashed + ": whether it was; when is in the history",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[contestEpisode[Locker, lockRecipe]](), map[string]string{
		"contest new": "constant: of the kind",
		"Script":      "follows: the plan, and operations",
		"guarded":     "follows: what was done outside, which is hashed in its order",
	})
	testkit.FieldsAreClassed(t, reflect.TypeFor[finalOps](), map[string]string{
		"drawn": "constant: of the plan", "mu": "scratch: of synchronisation", "found unknown renewed": "follows: how operations ended",
	})
}
