package torturecli

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zktorture/zktorture/internal/ownpages"
	"github.com/zktorture/zktorture/sim"
)

// metricsFlags say where a run serves its metrics.
type metricsFlags struct {
	Metrics string `placeholder:"ADDR" help:"Serve metrics for Prometheus at http://ADDR/metrics while it runs."`
}

// serve serves metrics until stop is called, if they are wanted.
func (f *metricsFlags) serve(c *commandContext, collectors ...prometheus.Collector) (stop func(), err error) {
	if f.Metrics == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", f.Metrics)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors...)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: ownpages.Only(mux), ReadHeaderTimeout: metricsPatience, WriteTimeout: metricsPatience}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(c.err, "torture: the server of --metrics has stopped: %v\n", err)
		}
	}()
	fmt.Fprintf(c.err, "torture: metrics at http://%v/metrics\n", listener.Addr())
	warnBeyond(c, "--metrics", listener.Addr(), "read them")
	return func() { server.Close() }, nil
}

// warnBeyond warns of an address at which other machines can reach this one.
func warnBeyond(c *commandContext, flag string, address net.Addr, do string) {
	if tcp, ok := address.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		fmt.Fprintf(c.err, "torture: %s: %v can be reached from other machines, and anyone who connects can %s\n",
			flag, address, do)
	}
}

// metricsPatience is the timeout of a scrape.
const metricsPatience = 10 * time.Second

// describe describes a metric with labels.
func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("zktorture_"+name, help, labels, nil)
}

var (
	episodesTotal   = describe("episodes_total", "Episodes that were run and judged.")
	operationsTotal = describe("operations_total", "Operations of recipes that were begun.")
	violationsTotal = describe("violations_total", "Episodes in which a property broke.")
	faultsTotal     = describe("faults_struck_total", "Faults that struck.", "fault")
)

// runMetrics are the metrics of a run.
type runMetrics struct {
	latest   atomic.Pointer[sim.Progress]
	requests *prometheus.HistogramVec
}

func newRunMetrics() *runMetrics {
	m := &runMetrics{requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "zktorture_request_seconds",
		Help:    "How long requests to real servers took, by operation and whether they failed.",
		Buckets: prometheus.ExponentialBuckets(0.0002, 2.5, 12),
	}, []string{"op", "outcome"})}
	m.latest.Store(&sim.Progress{})
	return m
}

// following returns a progress callback that records the progress and passes it on.
func (m *runMetrics) following(next func(sim.Progress)) func(sim.Progress) {
	return func(p sim.Progress) {
		m.latest.Store(&p)
		next(p)
	}
}

// observe records the duration of a request.
func (m *runMetrics) observe(op string, took time.Duration, err error) {
	outcome := "ok"
	if err != nil {
		outcome = "error"
	}
	m.requests.WithLabelValues(op, outcome).Observe(took.Seconds())
}

// Describe implements prometheus.Collector.
func (m *runMetrics) Describe(descs chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(m, descs)
}

// Collect implements prometheus.Collector.
func (m *runMetrics) Collect(metrics chan<- prometheus.Metric) {
	p := m.latest.Load()
	count(metrics, episodesTotal, float64(p.Episodes))
	count(metrics, operationsTotal, float64(p.Operations))
	count(metrics, violationsTotal, float64(p.Violations))
	countEach(metrics, faultsTotal, p.Struck)
	m.requests.Collect(metrics)
}

func count(metrics chan<- prometheus.Metric, desc *prometheus.Desc, value float64, labels ...string) {
	metrics <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, labels...)
}

func countEach[K ~string](metrics chan<- prometheus.Metric, desc *prometheus.Desc, times map[K]int) {
	for _, name := range slices.Sorted(maps.Keys(times)) {
		count(metrics, desc, float64(times[name]), string(name))
	}
}
