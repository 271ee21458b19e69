package page

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("zktorture_"+name, help, labels, nil)
}

// The metrics. Those that torture run has, too, have the same names.
var (
	episodesTotal   = describe("episodes_total", "Episodes that were run and judged.")
	stepsTotal      = describe("steps_total", "Steps of simulated worlds.")
	violationsTotal = describe("violations_total",
		"Episodes in which a property broke, those of known bugs apart.", "property", "zoo")
	faultsTotal = describe("faults_struck_total", "Faults that struck.", "fault")

	campaignInfo  = describe("campaign_info", "The campaign: always 1.", "plan", "digest", "state")
	campaignUnits = describe("campaign_units", "Units of the campaign.", "state")
	campaignTwice = describe("campaign_units_twice_total", "Results of units that were done before and compared.",
		"equal")
	campaignWorkers = describe("campaign_workers", "Workers of the campaign.", "state")
	campaignLast    = describe("campaign_last_result_age_seconds",
		"Age of the last result, or without one of the campaign.")
	campaignRate     = describe("campaign_episodes_per_second", "Episodes a second, in the last minute.")
	campaignRed      = describe("campaign_red", "Whether the campaign is red: it did not do what its plan says.")
	campaignFailures = describe("campaign_failures", "Properties that recipes broke, those of known bugs apart.")
)

// metrics are the metrics of a campaign.
type metrics struct{ get func() status.Status }

// newMetrics returns the metrics of a campaign, for a registry of Prometheus.
func newMetrics(get func() status.Status) prometheus.Collector { return metrics{get} }

// Describe implements prometheus.Collector.
func (m metrics) Describe(descs chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, descs) }

// Collect implements prometheus.Collector.
func (m metrics) Collect(out chan<- prometheus.Metric) {
	s := m.get()
	c := collecting{out}
	c.counter(episodesTotal, float64(s.Episodes))
	c.counter(stepsTotal, float64(s.Steps))
	c.found(s)
	c.units(s)
	c.workers(s)
	j := judge(s, nil)
	c.gauge(campaignLast, s.Now.Sub(later(s.Began, s.Last)).Seconds())
	c.gauge(campaignRate, s.Rate)
	c.gauge(campaignRed, truth(len(j.Red) > 0))
	c.gauge(campaignFailures, float64(j.Broken))
	name := ""
	if s.Plan != nil {
		name = s.Plan.Name
	}
	c.gauge(campaignInfo, 1, name, s.Digest, string(s.State))
}

// collecting sends metrics.
type collecting struct{ out chan<- prometheus.Metric }

func (c collecting) counter(desc *prometheus.Desc, value float64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, valid(labels)...)
}

func (c collecting) gauge(desc *prometheus.Desc, value float64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, valid(labels)...)
}

// valid makes labels of texts, which have to be UTF-8.
func valid(labels []string) []string {
	for i, l := range labels {
		labels[i] = strings.ToValidUTF8(l, "\uFFFD")
	}
	return labels
}

// found sends what broke and which faults struck.
func (c collecting) found(s status.Status) {
	type broken struct{ property, zoo string }
	times, struck := map[broken]int{}, map[string]int{}
	for _, job := range s.Jobs {
		for _, f := range job.Found {
			times[broken{strings.ToValidUTF8(f.Property, "\uFFFD"), yes(job.Animal != "")}] += f.Times
		}
		for fault, n := range job.Struck {
			struck[strings.ToValidUTF8(fault, "\uFFFD")] += n
		}
	}
	for b, n := range times {
		c.counter(violationsTotal, float64(n), b.property, b.zoo)
	}
	for fault, n := range struck {
		c.counter(faultsTotal, float64(n), fault)
	}
}

func (c collecting) units(s status.Status) {
	running := 0
	for _, w := range s.Workers {
		if stateOf(w, s.Now) == workerWorking {
			running++
		}
	}
	c.gauge(campaignUnits, float64(s.Done), "done")
	c.gauge(campaignUnits, float64(len(s.Unknown)), "unknown")
	c.gauge(campaignUnits, float64(running), "running")
	if s.Units > 0 {
		c.gauge(campaignUnits, float64(max(s.Units-s.Done-len(s.Unknown)-running, 0)), "waiting")
	}
	c.counter(campaignTwice, float64(s.Twice), "yes")
	c.counter(campaignTwice, float64(len(s.Unequal)), "no")
}

func (c collecting) workers(s status.Status) {
	n := map[workerState]int{}
	for _, w := range s.Workers {
		n[stateOf(w, s.Now)]++
	}
	for _, state := range []workerState{workerWorking, workerIdle, workerGone, workerRefused} {
		c.gauge(campaignWorkers, float64(n[state]), string(state))
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
