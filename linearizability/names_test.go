package linearizability

import (
	"slices"
	"testing"
)

// results are what operations of each kind of result may return, and what they may not.
var results = map[ResultKind]struct{ sound, unsound []Value }{
	ResultNone:      {[]Value{Null}, []Value{Str("1:a")}},
	ResultToken:     {[]Value{Null, Int(7)}, []Value{Str("1:a"), Bool(true)}},
	ResultGranted:   {[]Value{Null, Int(7), Int(0), Bool(true), Bool(false)}, []Value{Str("1:a")}},
	ResultNumber:    {[]Value{Int(7)}, []Value{Str("1:a")}},
	ResultItem:      {[]Value{Str("1:a")}, []Value{Null}},
	ResultItemOrNil: {[]Value{Null, Str("1:a")}, nil},
}

// The table says of each operation what the models that have it take it for.
func TestOperationKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range operationKinds {
		if seen[k.Name] {
			t.Errorf("there are two kinds of %s", k.Name)
		}
		seen[k.Name] = true
		if back := KindOf(k.Back); k.Back != "" && (back.Role != RoleRelease && back.Role != RoleLeave ||
			!slices.Equal(back.Models, k.Models)) {
			t.Errorf("what %s grants is given back by %s, of %v, and that is a %s of %v", k.Name, k.Back, k.Models,
				back.Role, back.Models)
		}
		for _, name := range k.Models {
			m, err := ByName(name)
			if err != nil || !slices.Contains(m.Operations, k.Name) {
				t.Fatalf("%s has no %s: %v", name, k.Name, err)
			}
			wantResults(t, m, k)
		}
	}
}

func wantResults(t *testing.T, m Model, k OperationKind) {
	t.Helper()
	op := Operation{Op: k.Name}
	switch k.Role {
	case RoleOffer:
		op.Arg = Str("1:a")
	case RoleAdd:
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
	if k := KindOf("join"); k.Name != "join" || k.Role != "" || k.Models != nil {
		t.Errorf("%+v", k)
	}
	if op := (&Operation{Op: "join"}); op.releases() || op.tries() || op.reads() || op.showsResult() {
		t.Errorf("an operation that no model has is of kind %+v", op.kind())
	}
}
