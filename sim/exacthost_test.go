//go:build zktexact

package sim_test

import (
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// address is that of the host, which is not its own for whoever asks on it.
func address() string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%v-%d", all[len(all)-1], os.Getpid())
}

// In exact mode each process has a host name, an address and a process id of its own: code that knows itself by these is right.
func TestExactHosts(t *testing.T) {
	for name, signature := range map[string]func() string{
		"host and pid": hostAndPid, "address and pid": address,
		"pid":         func() string { return fmt.Sprint(os.Getpid()) },
		"environment": func() string { return fmt.Sprintf("%s-%d", os.Getenv("HOSTNAME"), os.Getpid()) },
	} {
		r := run(t, signed(signature), sim.Config{Episodes: 500, Seed: 1, Faults: world.Crash})
		if r.Verdict != sim.VerdictOK || r.Rerun.Differed > 0 {
			t.Errorf("%s: %s %s, rerun %+v: %q", name, r.Verdict, r.Reason, r.Rerun, found(r))
		}
	}
}

// A process that comes back is on the same host, and is another process: who knows itself by the host alone takes what its
// former life has left for its own.
func TestExactHostOutlivesItsProcess(t *testing.T) {
	cfg := sim.Config{Episodes: 3000, Seed: 1, Faults: world.Crash, Until: "exclusion", NoShrink: true}
	r := run(t, signed(hostname), cfg)
	if len(r.Violations) == 0 || r.Violations[0].Property != "exclusion" || r.Violations[0].Faults == 0 {
		t.Errorf("%s %s: %q", r.Verdict, r.Reason, found(r))
	}
	if r = run(t, signed(hostname), sim.Config{Episodes: 500, Seed: 1, NoFaultsAtAll: true}); r.Verdict != sim.VerdictOK {
		t.Errorf("without faults: %s %s: %q", r.Verdict, r.Reason, found(r))
	}
}
