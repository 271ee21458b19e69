//go:build !zktexact

package service_test

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/sim"
)

func TestServiceTakesExactMode(t *testing.T) {
	r, err := sim.Run(t.Context(), electing(elect).Workload(), sim.Config{Episodes: 1})
	if err != nil || r.Verdict != sim.VerdictUnknown || !strings.Contains(r.Reason, "run it by torture test") {
		t.Errorf("%s %s %v", r.Verdict, r.Reason, err)
	}
}
