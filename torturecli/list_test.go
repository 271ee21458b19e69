package torturecli

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// torture list names exactly what can be run.
func TestList(t *testing.T) {
	t.Chdir(t.TempDir())
	status, text, _ := command(t, "list")
	if status != exitOK {
		t.Fatalf("exit status %d", status)
	}
	for _, e := range workload.Entries() {
		runs(t, e.Kind, "--recipe", e.Recipe)
		_, section, ok := strings.Cut("\n"+text, "\n"+e.Kind+"\n")
		section, _, _ = strings.Cut(section, "\n\n")
		if !ok || !strings.Contains(section, "--recipe "+e.Recipe+" ") || !strings.Contains(section, e.Help) {
			t.Errorf("recipe %s of %s is not listed in\n%s", e.Recipe, e.Kind, section)
		}
	}
	for fault := range sim.EveryFault.Each() {
		runs(t, "lock", "--faults", fault.String())
		if !strings.Contains(text, "\n  "+fault.String()+" ") || !strings.Contains(text, fault.Help()) {
			t.Errorf("fault %v is not listed", fault)
		}
	}
	_, strategies, _ := strings.Cut(text, "strategies (--strategy)\n")
	for line := range strings.Lines(strategies) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == sim.Exhaustive { // two runs are not all
			complete(t, "counter", "--strategy", name, "--clients", "1", "--ops", "1", "--faults", "none")
			continue
		}
		runs(t, "lock", "--strategy", name)
	}
}

func complete(t *testing.T, args ...string) {
	t.Helper()
	status, stdout, _ := command(t, append([]string{"run", "--seed", "1"}, args...)...)
	if status != exitOK || !strings.Contains(stdout, "COMPLETE") {
		t.Errorf("torture run %v: exit status %d, %s", args, status, stdout)
	}
}

// runs fails the test if the command line is rejected. The outcome of the run does not matter.
func runs(t *testing.T, args ...string) {
	t.Helper()
	status, _, stderr := command(t, append([]string{"run", "--seed", "1", "--episodes", "2"}, args...)...)
	if status == exitUnknown || stderr != "" {
		t.Errorf("torture run %v: exit status %d, %s", args, status, stderr)
	}
}
