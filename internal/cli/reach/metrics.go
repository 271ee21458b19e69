package reach

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/webpage"
	"github.com/zktorture/zktorture/sim"
)

// MetricsFlags say where a run serves its metrics.
type MetricsFlags struct {
	Metrics string `placeholder:"ADDR" help:"Serve metrics for Prometheus at http://ADDR/metrics while it runs."`
}

// Serve serves the metrics that write writes until stop is called, if they are wanted.
func (f *MetricsFlags) Serve(c *console.Context, write func(Exposition)) (stop func(), err error) {
	if f.Metrics == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", f.Metrics)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		write(Exposition{w})
	})
	server := &http.Server{Handler: webpage.OwnOnly(mux), ReadHeaderTimeout: Patience, WriteTimeout: Patience}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(c.Stderr, "torture: the server of --metrics has stopped: %v\n", err)
		}
	}()
	fmt.Fprintf(c.Stderr, "torture: metrics at http://%v/metrics\n", listener.Addr())
	WarnBeyond(c, "--metrics", listener.Addr(), "read them")
	return func() { server.Close() }, nil
}

// WarnBeyond warns of an address at which other machines can reach this one.
func WarnBeyond(c *console.Context, flag string, address net.Addr, do string) {
	if tcp, ok := address.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		fmt.Fprintf(c.Stderr, "torture: %s: %v can be reached from other machines, and anyone who connects can %s\n",
			flag, address, do)
	}
}

// Patience is the timeout of what is asked over HTTP.
const Patience = 10 * time.Second

// Exposition is a text in Prometheus's Exposition format, version 0.0.4. Names, help and labels are this command's own, and
// need no escapes.
type Exposition struct{ io.Writer }

// Metric begins a metric of a type: counter, gauge or histogram.
func (e Exposition) Metric(name, kind, help string) {
	fmt.Fprintf(e, "# HELP zktorture_%s %s\n# TYPE zktorture_%s %s\n", name, help, name, kind)
}

// Counter writes a counter without labels.
func (e Exposition) Counter(name, help string, n int) {
	e.Metric(name, "counter", help)
	fmt.Fprintf(e, "zktorture_%s %d\n", name, n)
}

// StruckFaults writes how often each fault has struck.
func StruckFaults[K ~string](e Exposition, struck map[K]int) {
	if len(struck) > 0 {
		e.Metric("faults_struck_total", "counter", "Faults that struck.")
	}
	for _, name := range slices.Sorted(maps.Keys(struck)) {
		fmt.Fprintf(e, "zktorture_faults_struck_total{fault=%q} %d\n", name, struck[name])
	}
}

// RunMetrics are the metrics of a run.
type RunMetrics struct {
	latest   atomic.Pointer[sim.Progress]
	requests durations
}

func NewRunMetrics() *RunMetrics {
	m := &RunMetrics{}
	m.latest.Store(&sim.Progress{})
	return m
}

// Following returns a progress callback that records the progress and passes it on.
func (m *RunMetrics) Following(next func(sim.Progress)) func(sim.Progress) {
	return func(p sim.Progress) {
		m.latest.Store(&p)
		next(p)
	}
}

func (m *RunMetrics) Write(e Exposition) {
	p := m.latest.Load()
	e.Counter("episodes_total", "Episodes that were run and judged.", int(p.Episodes))
	e.Counter("operations_total", "Operations of recipes that were begun.", int(p.Operations))
	e.Counter("violations_total", "Episodes in which a property broke.", int(p.Violations))
	StruckFaults(e, p.Struck)
	m.requests.write(e)
}

// Observe records the duration of a request.
func (m *RunMetrics) Observe(op string, took time.Duration, err error) { m.requests.add(op, err, took) }

// durations are how long requests took, by operation and outcome.
type durations struct {
	mu  sync.Mutex
	all map[string]*histogram // by labels
}

// histogram counts durations in slots. The first ends at shortest, each other is longer by widening, and the last has no
// end.
type histogram struct {
	slots [13]int
	sum   time.Duration
}

const (
	shortest = 0.0002 // seconds
	widening = 2.5
)

func (d *durations) add(op string, err error, took time.Duration) {
	outcome := "ok"
	if err != nil {
		outcome = "error"
	}
	labels := fmt.Sprintf("op=%q,outcome=%q", op, outcome)
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.all[labels]
	if h == nil {
		h = &histogram{}
		if d.all == nil {
			d.all = map[string]*histogram{}
		}
		d.all[labels] = h
	}
	slot := 0
	for end := shortest; slot < len(h.slots)-1 && took.Seconds() > end; end *= widening {
		slot++
	}
	h.slots[slot]++
	h.sum += took
}

func (d *durations) write(e Exposition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) > 0 {
		e.Metric("request_seconds", "histogram", "How long requests to real servers took, by operation and whether they failed.")
	}
	for _, labels := range slices.Sorted(maps.Keys(d.all)) {
		h, n, end := d.all[labels], 0, shortest
		for _, times := range h.slots[:len(h.slots)-1] {
			n += times
			fmt.Fprintf(e, "zktorture_request_seconds_bucket{%s,le=\"%g\"} %d\n", labels, end, n)
			end *= widening
		}
		n += h.slots[len(h.slots)-1]
		fmt.Fprintf(e, "zktorture_request_seconds_bucket{%s,le=\"+Inf\"} %d\n", labels, n)
		fmt.Fprintf(e, "zktorture_request_seconds_sum{%s} %g\nzktorture_request_seconds_count{%s} %d\n", labels, h.sum.Seconds(),
			labels, n)
	}
}
