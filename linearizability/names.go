package linearizability

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/zktorture/zktorture/linearizability/operations"
)

// Parameters are what models have to know of an object.
type Parameters struct {
	Parties int // of a barrier; 0 stands for 2
	Permits int // of a semaphore; 0 stands for 1
}

// ByName returns the model of that name, such as lock or queue. Parameters, of which only the first count, are for
// the models that have some.
func ByName(name string, with ...Parameters) (Model, error) {
	p := append(with, Parameters{})[0]
	for _, m := range []Model{Lock(), RWLock(), Semaphore(cmp.Or(p.Permits, 1)), Queue(), PriorityQueue(), Counter(),
		Election(), DoubleBarrier(cmp.Or(p.Parties, 2)), Barrier()} {
		if m.Name == name {
			return m, nil
		}
	}
	return Model{}, fmt.Errorf("no model is called %q; the models are: %s", name,
		strings.Join(operations.Models(), ", "))
}

// operationsOf lists the names of a model's operations.
func operationsOf(model string) (names []string) {
	for _, k := range operations.OfModel(model) {
		names = append(names, k.Name)
	}
	return names
}

func (o *Operation) kind() *operations.Kind { return operations.Of(o.Op) }
