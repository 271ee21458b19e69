package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The folder of a counterexample names its test, also a subtest, and no other.
func TestTestOfAFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{"go.mod": "module m\n\ngo 1.26\n", "m_test.go": `package m

import "testing"

func TestA(t *testing.T) { t.Run("b c", func(*testing.T) {}); t.Run("d", func(*testing.T) {}) }

func TestA_b(*testing.T) {}
`}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for folder, want := range map[string]string{"TestA_d": "TestA/d", "TestA_b": "TestA_b", "TestA_b_c": "TestA/b_c"} {
		f, ok := failedTest(filepath.Join("testdata", "zktorture", folder, "order-1.json"))
		if !ok {
			t.Fatalf("%s: no test has written it", folder)
		}
		said := noTests
		for _, test := range f.tests {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-v", "-run", test, ".")
			cmd.Env = append(cmd.Environ(), "GOWORK=off")
			out, err := cmd.CombinedOutput()
			if said = string(out); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			if !strings.Contains(said, noTests) {
				break
			}
		}
		if !strings.Contains(said, "--- PASS: "+want+" ") || want == "TestA_b" && strings.Contains(said, "TestA/") {
			t.Errorf("%s: %q run\n%s", folder, f.tests, said)
		}
	}
	if f, ok := failedTest("counterexamples/x.json"); ok {
		t.Errorf("a test has written what it has not: %+v", f)
	}
}
