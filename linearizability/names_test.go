package linearizability

import (
	"slices"
	"testing"

	"github.com/zktorture/zktorture/linearizability/operations"
)

// results are what operations of each kind of result may return, and what they may not.
var results = map[operations.Result]struct{ sound, unsound []Value }{
	operations.None:      {[]Value{Null}, []Value{Str("1:a")}},
	operations.Token:     {[]Value{Null, Int(7)}, []Value{Str("1:a"), Bool(true)}},
	operations.Granted:   {[]Value{Null, Int(7), Int(0), Bool(true), Bool(false)}, []Value{Str("1:a")}},
	operations.Number:    {[]Value{Int(7)}, []Value{Str("1:a")}},
	operations.Item:      {[]Value{Str("1:a")}, []Value{Null}},
	operations.ItemOrNil: {[]Value{Null, Str("1:a")}, nil},
}

// The table says of each operation what the models that have it take it for.
func TestOperationKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range operations.Models() {
		m, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range operations.OfModel(name) {
			if seen[name+k.Name] {
				t.Errorf("%s has two kinds of %s", name, k.Name)
			}
			seen[name+k.Name] = true
			back := operations.Of(k.Back)
			if k.Back != "" && (back.Role != operations.Release && back.Role != operations.Leave ||
				!slices.Equal(back.Models, k.Models)) {
				t.Errorf("what %s grants is given back by %s, of %v, and that is a %s of %v", k.Name, k.Back, k.Models,
					back.Role, back.Models)
			}
			wantResults(t, m, k)
		}
	}
	if len(seen) < 20 {
		t.Errorf("the models have %d operations", len(seen))
	}
}

func wantResults(t *testing.T, m Model, k operations.Kind) {
	t.Helper()
	op := Operation{Op: k.Name}
	switch k.Role {
	case operations.Offer:
		op.Arg = Str("1:a")
	case operations.Add:
		op.Arg = Int(1)
	}
	for _, op.Result = range results[k.Result].sound {
		if problem := m.unsound(&op); problem != "" {
			t.Errorf("%s: %v: %s", m.Name, op, problem)
		}
	}
	for _, op.Result = range results[k.Result].unsound {
		if m.unsound(&op) == "" {
			t.Errorf("%s: %v has a result that it cannot have", m.Name, op)
		}
	}
}

// Of an operation that no model has nothing is known.
func TestKindOfUnknownOperation(t *testing.T) {
	if k := operations.Of("join"); k.Name != "" || k.Role != "" || k.Models != nil {
		t.Errorf("%+v", k)
	}
	if op := (&Operation{Op: "join"}); op.releases() || op.kind().Tries || op.kind().Reader || op.showsResult() {
		t.Errorf("an operation that no model has is of kind %+v", op.kind())
	}
}
