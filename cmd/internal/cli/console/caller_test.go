package console

import "testing"

func TestSelf(t *testing.T) {
	for program, want := range map[string]string{
		"torture": "torture", "./torture": "./torture", "../b in/torture": "'../b in/torture'",
	} {
		if got := selfOf(program, ""); got != want {
			t.Errorf("%s: %s, want %s", program, got, want)
		}
	}
}

func TestFile(t *testing.T) {
	for name, want := range map[string]string{"x.json": "x.json", "-x": "./-x", "-": "-", "a b": "'a b'"} {
		if got := (Streams{}).File(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
