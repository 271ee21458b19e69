package world

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "write what happens into the transcripts, instead of comparing")

const transcriptRule = "----\n"

// Each transcript is a small scripted world in which one fault strikes, and the trace of what it
// does. The first line says which rule it shows.
func TestFaultTranscripts(t *testing.T) {
	if shown := transcripts(t, "testdata/faults/*.txt"); shown != EveryFault {
		t.Errorf("no transcript shows %v", EveryFault&^shown)
	}
}

func transcripts(t *testing.T, pattern string) (shown Faults) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { shown |= transcript(t, file) })
	}
	return shown
}

func transcript(t *testing.T, file string) Faults {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, want, _ := strings.Cut(string(data), transcriptRule)
	if !strings.HasPrefix(text, "# Rule: ") {
		t.Errorf("the first line has to say which rule is shown")
	}
	s := parseScript(t, text)
	got := strings.Join(s.play(t), "\n") + "\n"
	if *rewrite {
		if err := os.WriteFile(file, []byte(text+transcriptRule+got), 0o644); err != nil {
			t.Fatal(err)
		}
		return s.faults
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (run with -rewrite if this is right):\n%s", file, diff)
	}
	return s.faults
}

// What a set prints, Parse reads: the same set.
func TestFaultsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := Faults(rapid.Uint16Max(uint16(EveryFault)).Draw(t, "set"))
		if again, err := ParseFaults(set.String()); err != nil || again != set {
			t.Fatalf("%q reads as %q (%v)", set, again, err)
		}
	})
}

// A minus leaves out what stands before it.
func TestFaultsLeftOut(t *testing.T) {
	for list, want := range map[string]Faults{
		"all,-wrap": AllFaults &^ Wrap, "all, -wrap, -reap": AllFaults &^ (Wrap | Reap), "quorum,all,-quorum": AllFaults, "loss,-loss": NoFaults,
	} {
		if set, err := ParseFaults(list); err != nil || set != want {
			t.Errorf("%q reads as %v, %v; want %v", list, set, err, want)
		}
	}
	if set, err := ParseFaults("all,-quorum"); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("what all has not is left out of it: %v, %v", set, err)
	}
}

func TestParseFaultsRefuses(t *testing.T) {
	for _, list := range []string{"", "los", "loss,", "loss expiry", "LOSS", "loss,,lag"} {
		if set, err := ParseFaults(list); err == nil || !strings.Contains(err.Error(), "the faults are") {
			t.Errorf("%q reads as %q, %v", list, set, err)
		}
	}
}

// The table has a row for each fault, whole.
func TestFaultTable(t *testing.T) {
	seen := map[string]bool{}
	for f := range EveryFault.Each() {
		row := faultTable[f.Index()]
		if row.name == "" || row.help == "" || seen[row.name] || (row.find == nil) != (f == Wrap) || (row.strike == nil) != (f == Wrap) {
			t.Errorf("fault %b: %+v", f, row)
		}
		seen[row.name] = true
	}
	if len(seen) != FaultCount {
		t.Errorf("%d faults, %d rows", len(seen), FaultCount)
	}
}
