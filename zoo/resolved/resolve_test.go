package resolved

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/zoo/published"
)

// In what follows A and L, asked for by Later, are in force, and B is not.
func TestResolve(t *testing.T) {
	for _, test := range []struct{ name, before, after string }{
		{"not in force", `x = w.bugs.Has("B1")`, `x = false`},
		{"later", `x = bugs.Later("L1")`, `x = true`},
		{"somebody else's Has", `x = set.Has("A1")`, `x = set.Has("A1")`},
		{"not", `x = !bugs.Has("A1")`, `x = false`},
		{"and", `x = y && bugs.Has("A1")`, `x = y`},
		{"and not", `x = y && !bugs.Has("A1")`, `x = false`},
		{"or", `x = bugs.Has("A1") || y`, `x = true`},
		{"or not", `x = bugs.Has("B1") || y`, `x = y`},
		{"parentheses stay", `x = y && (bugs.Has("B1") || y || z)`, `x = y && (y || z)`},
		{"parentheses go", `x = y && (a == b || bugs.Has("B1"))`, `x = y && a == b`},
		{"parentheses under not", `x = !(a == b && bugs.Has("A1"))`, `x = !(a == b)`},
		{"not in parentheses", `x = y || (!bugs.Has("B1"))`, `x = true`},
		{"in a function", `f(func() { x = bugs.Has("A1") && y })`, `f(func() { x = y })`},

		{"if", "if bugs.Has(\"A1\") { // BUG: A1 why\n\tf()\n}\ng()", "// BUG: A1 why\nf()\ng()"},
		{"if not", "if !bugs.Has(\"A1\") { // BUG: A1 why\n\tf()\n}\ng()", "// BUG: A1 why\ng()"},
		{"another bug", "if bugs.Has(\"B1\") { // BUG: B1 why\n\tf() // how\n}\ng()", "g()"},
		{"another bug's fix", "if !bugs.Has(\"B1\") { // BUG: B1 why\n\tf() // how\n}", "f() // how"},
		{"of two bugs", "g() // BUG: A1, B1 why", "g() // BUG: A1, B1 why"},
		{"of two others", "g() // BUG: B1, B2 why", "g()"},
		{"else", "if bugs.Has(\"A1\") {\n\tf()\n} else {\n\tg()\n}", "f()"},
		{"if not else", "if bugs.Has(\"B1\") {\n\tf()\n} else {\n\tg()\n}", "g()"},
		{"if not else if", "if bugs.Has(\"B1\") {\n\tf()\n} else if y {\n\tg()\n}", "if y {\n\tg()\n}"},
		{"else if", "if y {\n\tf()\n} else if bugs.Has(\"A1\") {\n\tg()\n} else {\n\th()\n}",
			"if y {\n\tf()\n} else {\n\tg()\n}"},
		{"else if not", "if y {\n\tf()\n} else if bugs.Has(\"B1\") {\n\tg()\n}", "if y {\n\tf()\n}"},
		{"else if not else", "if y {\n\tf()\n} else if bugs.Has(\"B1\") {\n\tg()\n} else {\n\th()\n}",
			"if y {\n\tf()\n} else {\n\th()\n}"},
		{"a condition less", "if y && bugs.Has(\"A1\") { // BUG: A1 why\n\tf()\n}", "if y { // BUG: A1 why\n\tf()\n}"},
		{"in each other", "if bugs.Has(\"A1\") {\n\tif bugs.Has(\"B1\") {\n\t\tf()\n\t}\n\tg()\n}", "g()"},
		{"never reached", "if bugs.Has(\"A1\") {\n\treturn // BUG: A1 why\n}\n// and then\nf()",
			"return // BUG: A1 why"},
		{"never reached in a loop", "for y {\n\tif bugs.Has(\"A1\") {\n\t\tcontinue\n\t}\n\tf()\n}",
			"for y {\n\tcontinue\n}"},
		{"own names", "if bugs.Has(\"A1\") {\n\tv := f()\n\tg(v)\n}", "v := f()\ng(v)"},
		{"names of others", "v := 1\nif bugs.Has(\"A1\") {\n\tv := f()\n\tg(v)\n}\ng(v)",
			"v := 1\n{\n\tv := f()\n\tg(v)\n}\ng(v)"},

		{"case", "switch {\ncase y:\n\tf()\ncase bugs.Has(\"A1\"): // BUG: A1 why\n\tg()\ncase z:\n\th()\n}",
			"switch {\ncase y:\n\tf()\ndefault: // BUG: A1 why\n\tg()\n}"},
		{"case not", "switch {\ncase y:\n\tf()\ncase bugs.Has(\"B1\"): // BUG: B1 why\n\tg()\ncase z:\n\th()\n}",
			"switch {\ncase y:\n\tf()\ncase z:\n\th()\n}"},
		{"the only case", "switch {\ncase bugs.Has(\"A1\"):\n\tf()\n}", "f()"},
		{"no case", "switch {\ncase bugs.Has(\"B1\"):\n\tf()\n}\ng()", "g()"},
		{"break", "switch {\ncase bugs.Has(\"A1\"):\n\tif y {\n\t\tbreak\n\t}\n\tf()\n}",
			"switch {\ndefault:\n\tif y {\n\t\tbreak\n\t}\n\tf()\n}"},

		{"unused", "v := y\nif bugs.Has(\"B1\") {\n\tf(v)\n}\ng()", "g()"},
		{"unused var", "var v int\nif bugs.Has(\"B1\") {\n\tf(v)\n}\ng()", "g()"},
		{"unused result", "v := f()\nif bugs.Has(\"B1\") {\n\tg(v)\n}", "f()"},
		{"unused event", "v := <-c\nif bugs.Has(\"B1\") {\n\tg(v)\n}", "<-c"},
		{"unused result of two", "v, w := f()\nif bugs.Has(\"B1\") {\n\tg(v)\n}\ng(w)", "_, w := f()\ng(w)"},
		{"unused and known", "v, err := f()\nif bugs.Has(\"B1\") {\n\tg(v)\n}\nreturn err", "_, err = f()\nreturn err"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := resolve([]byte(inFunction(test.before)), published.OnlyBugs("A1", "L1"))
			if want := inFunction(test.after); err != nil || string(got) != want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// inFunction makes a file of statements.
func inFunction(statements string) string {
	return "package p\n\nfunc (w *W) f() (err error) {\n\t" + strings.ReplaceAll(statements, "\n", "\n\t") + "\n}\n"
}

func TestResolveDropsImports(t *testing.T) {
	const before = "package p\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\n" +
		"func f() {\n\tif bugs.Has(\"B1\") {\n\t\tos.Exit(1)\n\t}\n\tfmt.Println()\n}\n"
	const after = "package p\n\nimport (\n\t\"fmt\"\n)\n\nfunc f() {\n\tfmt.Println()\n}\n"
	if got, err := resolve([]byte(before), published.NoBugs()); err != nil || string(got) != after {
		t.Errorf("%v, got\n%s", err, got)
	}
}

// As it was published a recipe has all bugs but those of later versions.
func TestResolveAsPublished(t *testing.T) {
	src := inFunction("x = bugs.Has(\"B1\") // BUG: B1 why\ny = bugs.Later(\"L1\") // BUG: L1 why")
	got, err := resolve([]byte(src), published.AllBugs())
	if want := inFunction("x = true // BUG: B1 why\ny = false"); err != nil || string(got) != want {
		t.Errorf("%v, got\n%s", err, got)
	}
}

// What cannot be resolved is not shown.
func TestResolveRefuses(t *testing.T) {
	for _, statements := range []string{
		"if err := f(); bugs.Has(\"A1\") {\n\tg(err)\n}",
		"if y {\n\tf()\n} else if err := f(); bugs.Has(\"A1\") {\n\tg(err)\n}",
	} {
		got, err := resolve([]byte(inFunction(statements)), published.NoBugs())
		if err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%v, got\n%s", err, got)
		}
	}
}
