//go:build zktexact

package sim_test

import (
	"testing"

	"github.com/zktorture/zktorture/workload"
)

// So are campaigns over the wire in exact mode, in which go-zookeeper's own client and the Go runtime take part.
func TestRecordedCampaignsOverWire(t *testing.T) {
	compareCampaigns(t, "testdata/campaigns-wire.txt", (*workload.Workload).OverWire)
}
