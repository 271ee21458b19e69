package zoocmd

import (
	"bytes"
	"encoding/xml"
	"os"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/ciformat"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/zoo"
)

// A violation of a twin is reported.
func TestAnAccusedTwin(t *testing.T) {
	t.Chdir(t.TempDir())
	animals, err := zoo.Find([]string{"SP12"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := &console.Context{Context: t.Context(), Streams: console.Streams{Stdout: &out, Stderr: &out, Self: "torture"}}
	z := &ZooCmd{Seed: 1, Live: true, CIFlags: output.CIFlags{JUnit: "zoo.xml"}}
	catch := zoo.Catch{Animal: animals[0], Found: &sim.Found{}, Problem: "the fixed version is accused of orphan: so it is"}
	got := console.Status(c.Streams, z.report(c, []zoo.Catch{catch}, nil))
	if got != console.ExitViolation || !strings.Contains(out.String(), "accused fixed versions: SP12") {
		t.Errorf("exit status %d:\n%s", got, out.String())
	}
	text, err := os.ReadFile("zoo.xml")
	if err != nil {
		t.Fatal(err)
	}
	var all ciformat.Suites
	if err := xml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	f := all.Suites[0].Cases[0].Failure
	if f == nil || f.Type != "accused fixed version" || !strings.Contains(f.Text+f.Message, "so it is") {
		t.Errorf("the case says %+v", f)
	}
}
