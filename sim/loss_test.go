package sim_test

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// The answer of a handshake gets lost, in process and over the wire: the client, which has no session, gets another one
// later, and the first one ends.
func TestAnswersOfHandshakesGetLost(t *testing.T) {
	ours := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return recipes.NewLock(c, path) })
	for name, w := range map[string]sim.Workload{"in process": ours, "over the wire": workload.Of(workload.Lock, newZKLock)} {
		t.Run(name, func(t *testing.T) {
			lost, replaced := 0, 0
			for seed := range testkit.Sized(uint64(250), 500) {
				one := sim.RunOne(w, sim.Config{Clients: 2, Faults: world.Loss | world.Expiry}, sim.NewRandomSource(3, seed))
				for i, s := range one.Trace {
					_, rest, is := strings.Cut(s.Result, " begins session ")
					if s.Fault != world.Loss || !is {
						continue
					}
					lost++
					id, _, _ := strings.Cut(rest, ",")
					for _, later := range one.Trace[i:] {
						if later.Client == s.Client && later.Dialled == world.DialledNew {
							replaced++
							if strings.Contains(later.Result, id+" ") {
								t.Errorf("seed %d: session %s is begun twice", seed, id)
							}
							break
						}
					}
				}
			}
			if lost < 3 || replaced < lost/2 {
				t.Errorf("%d answers of handshakes were lost, and %d of their clients got another session", lost, replaced)
			}
		})
	}
}
