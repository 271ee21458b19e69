package page

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
)

// The metrics are called as Prometheus recommends, and say what the status says, even of a campaign of which nothing is
// known.
func TestMetrics(t *testing.T) {
	s := status.Status{}
	m := newMetrics(func() status.Status { return s })
	for _, s = range []status.Status{{}, running(), broken(20, 5)} {
		problems, err := testutil.CollectAndLint(m)
		if err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(m)
		if _, err := registry.Gather(); err != nil {
			t.Error(err)
		}
	}
	s = running()
	s.Twice, s.Unequal, s.Unknown[3] = 4, []int{9}, "it froze"
	s.Jobs[1].Found = s.Jobs[2].Found
	err := testutil.CollectAndCompare(m, strings.NewReader(`
# HELP zktorture_campaign_episodes_per_second Episodes a second, in the last minute.
# TYPE zktorture_campaign_episodes_per_second gauge
zktorture_campaign_episodes_per_second 61.4
# HELP zktorture_campaign_failures Properties that recipes broke, those of known bugs apart.
# TYPE zktorture_campaign_failures gauge
zktorture_campaign_failures 1
# HELP zktorture_campaign_info The campaign: always 1.
# TYPE zktorture_campaign_info gauge
zktorture_campaign_info{digest="d16e57",plan="night",state="running"} 1
# HELP zktorture_campaign_last_result_age_seconds Age of the last result, or without one of the campaign.
# TYPE zktorture_campaign_last_result_age_seconds gauge
zktorture_campaign_last_result_age_seconds 2
# HELP zktorture_campaign_red Whether the campaign is red: it did not do what its plan says.
# TYPE zktorture_campaign_red gauge
zktorture_campaign_red 1
# HELP zktorture_campaign_units Units of the campaign.
# TYPE zktorture_campaign_units gauge
zktorture_campaign_units{state="done"} 16
zktorture_campaign_units{state="running"} 1
zktorture_campaign_units{state="unknown"} 1
zktorture_campaign_units{state="waiting"} 9
# HELP zktorture_campaign_units_twice_total Results of units that were done before and compared.
# TYPE zktorture_campaign_units_twice_total counter
zktorture_campaign_units_twice_total{equal="no"} 1
zktorture_campaign_units_twice_total{equal="yes"} 4
# HELP zktorture_campaign_workers Workers of the campaign.
# TYPE zktorture_campaign_workers gauge
zktorture_campaign_workers{state="gone"} 0
zktorture_campaign_workers{state="idle"} 0
zktorture_campaign_workers{state="refused"} 0
zktorture_campaign_workers{state="working"} 1
# HELP zktorture_episodes_total Episodes that were run and judged.
# TYPE zktorture_episodes_total counter
zktorture_episodes_total 15400
# HELP zktorture_faults_struck_total Faults that struck.
# TYPE zktorture_faults_struck_total counter
zktorture_faults_struck_total{fault="crash"} 200
zktorture_faults_struck_total{fault="loss"} 1800
# HELP zktorture_steps_total Steps of simulated worlds.
# TYPE zktorture_steps_total counter
zktorture_steps_total 3e+06
# HELP zktorture_violations_total Episodes in which a property broke, those of known bugs apart.
# TYPE zktorture_violations_total counter
zktorture_violations_total{property="exclusion",zoo="no"} 7
zktorture_violations_total{property="exclusion",zoo="yes"} 7
zktorture_violations_total{property="orphan",zoo="yes"} 100
`))
	if err != nil {
		t.Error(err)
	}
}

// Names that are no UTF-8 do not stop the metrics.
func TestMetricsOfAnyName(t *testing.T) {
	s := broken(2, 2)
	s.Plan.Name += "\xff"
	s.Jobs[3].Found[0].Property, s.Jobs[4].Found[0].Property = "a\xff", "a\xfe"
	s.Jobs[3].Struck = map[string]int{"b\xff": 1, "b\xfe": 2}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newMetrics(func() status.Status { return s }))
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
}

// Metrics are served beside the page, of the last status.
func TestMetricsAreServed(t *testing.T) {
	l := NewLive()
	h := l.Handler()
	l.Observe(running())
	if text := body(t, get(t, h, "/metrics")); !strings.Contains(text, `zktorture_campaign_units{state="done"} 16`) {
		t.Errorf("/metrics has\n%s", text)
	}
}
