package mutants_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zktorture/zktorture/results/internal/mutants"
)

const source = `package p

func f(s string, n int) string {
	for n >= 0 && s != "" {
		s = s + "x"
		n--
		break
	}
	return s
}
`

// report has the form that gremlins writes.
const report = `{"files":[{"file_name":"p/p.go","mutations":[
	{"type":"ARITHMETIC_BASE","status":"KILLED","line":5,"column":9},
	{"type":"INVERT_LOOPCTRL","status":"LIVED","line":7,"column":3},
	{"type":"INVERT_LOGICAL","status":"NOT COVERED","line":4,"column":13},
	{"type":"CONDITIONALS_BOUNDARY","status":"KILLED","line":4,"column":8},
	{"type":"CONDITIONALS_NEGATION","status":"TIMED OUT","line":4,"column":8},
	{"type":"INCREMENT_DECREMENT","status":"KILLED","line":6,"column":4}]}]}`

func packageDir(t *testing.T) string {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A difference of strings does not compile, so no test has killed it.
func TestViable(t *testing.T) {
	all, err := mutants.Read([]byte(report))
	if err != nil {
		t.Fatal(err)
	}
	viable, broken, err := mutants.Viable(packageDir(t), all)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range viable {
		got = append(got, m.Change()+map[bool]string{true: " killed"}[m.Killed()])
	}
	want := []string{
		`p.go: for n >= 0 && s != "" { → for n > 0 && s != "" { killed`,
		`p.go: for n >= 0 && s != "" { → for n < 0 && s != "" {`,
		`p.go: for n >= 0 && s != "" { → for n >= 0 || s != "" {`,
		`p.go: n-- → n++ killed`,
		`p.go: break → continue`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(broken) != 1 || broken[0].Change() != `p.go: s = s + "x" → s = s - "x"` {
		t.Errorf("%v does not compile", broken)
	}
}

// What Write writes is what Read reads.
func TestWrite(t *testing.T) {
	all, err := mutants.Read([]byte(report))
	if err != nil {
		t.Fatal(err)
	}
	all[0].Status = mutants.KilledByOther
	data, err := mutants.Write(all)
	if err != nil {
		t.Fatal(err)
	}
	again, err := mutants.Read(data)
	if diff := cmp.Diff(all, again, cmpopts.IgnoreUnexported(mutants.Mutant{})); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

func TestApply(t *testing.T) {
	got, err := mutants.Mutant{File: "p.go", Type: "INVERT_LOGICAL", Line: 4, Column: 13}.Apply(packageDir(t))
	if want := strings.Replace(source, "&&", "||", 1); err != nil || string(got) != want {
		t.Errorf("%v: %s", err, cmp.Diff(want, string(got)))
	}
}

func TestReportOfAnotherSource(t *testing.T) {
	for _, m := range []mutants.Mutant{
		{File: "p.go", Type: "INVERT_LOGICAL", Line: 5, Column: 13},
		{File: "p.go", Type: "INVERT_LOGICAL", Line: 5, Column: 1300},
		{File: "p.go", Type: "INVERT_LOGICAL", Line: 500, Column: 1},
		{File: "gone.go", Type: "INVERT_LOGICAL", Line: 1, Column: 1},
	} {
		if _, err := m.Apply(packageDir(t)); err == nil {
			t.Errorf("%v was applied", m)
		}
	}
	if _, err := mutants.Read([]byte("{")); err == nil {
		t.Error("half a report was read")
	}
}
