package campaign

import (
	"crypto/subtle"
	"crypto/tls"
	_ "embed"
	"html/template"
	"io"
	"net"
	"net/http"
	"path"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/internal/webpage"
)

// view is what the page shows: of a campaign that runs, and of one that has ended.
type view struct {
	Status  Status
	Report  *Report        // nil while it runs
	Nights  []NightFailure // nil: no earlier nights are known
	Refresh int            // seconds; 0: never
	Look    template.CSS
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"text": escape.Text, "silent": func(s Status, b beat) bool { return s.Now.Sub(b.Heard) > silenceMax },
	"ago":      func(s Status, b beat) time.Duration { return s.Now.Sub(b.Heard).Round(time.Second) },
	"rounded":  func(d Duration) time.Duration { return time.Duration(d).Round(time.Second) },
	"failures": func(r *JobReport) []Failure { return r.broken() },
	"file":     func(job JobReport, f Failure) string { return path.Join(examplesName, exampleFile(job, f)) },
}).Parse(pageText))

// Verdict is what the page says above all.
func (v view) Verdict() string {
	if v.Report == nil {
		return string(v.Status.State)
	}
	return string(v.Report.Verdict())
}

func (v view) write(w io.Writer) error {
	v.Look = template.CSS(webpage.Look)
	return pageTemplate.Execute(w, v)
}

// handler serves the page and metrics of a campaign that is led.
func (l *leader) handler() http.Handler {
	metrics := prometheus.NewRegistry()
	gauge := func(name, help string, value func(Status) int) {
		metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "torture_campaign", Name: name, Help: help},
			func() float64 { return float64(value(l.now())) }))
	}
	gauge("units", "Units of the plan; 0: as many as there is time for.", func(s Status) int { return s.Units })
	gauge("units_done", "Units that have a result.", func(s Status) int { return s.Done })
	gauge("units_unknown", "Units that gave no result.", func(s Status) int { return s.Unknown })
	gauge("units_unequal", "Units that gave different results.", func(s Status) int { return len(s.Unequal) })
	gauge("episodes", "Episodes that were run.", func(s Status) int { return s.Episodes })
	gauge("jobs_concluded", "Jobs whose failures are minimised and explained.", func(s Status) int { return s.Concluded })
	gauge("failures", "Properties that jobs broke which are not of known bugs.", func(s Status) int { return s.failures() })
	gauge("workers", "Workers that were heard of within a minute.", func(s Status) int { return s.there() })
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_ = view{Status: l.now(), Refresh: 5}.write(w) // the browser may be gone
	})
	return mux
}

// failures is how many properties broke that were not known to.
func (s Status) failures() (n int) {
	for _, j := range s.Jobs {
		if !j.Job.Canary {
			n += len(j.Found)
		}
	}
	return n
}

// there is how many workers are there.
func (s Status) there() (n int) {
	for _, w := range s.Workers {
		if s.Now.Sub(w.Heard) <= silenceMax {
			n++
		}
	}
	return n
}

// servePage serves a page until close is called, and says where. Beyond this machine it asks for a password, and uses TLS.
func servePage(where *net.TCPAddr, secure *tls.Config, password string, h http.Handler) (address string, close func(), err error) {
	var at net.Listener
	if at, err = net.ListenTCP("tcp", where); err != nil {
		return "", nil, err
	}
	address, h = "http://"+at.Addr().String(), webpage.OwnOnly(h)
	if secure != nil {
		address = "https://" + reachable(at.Addr().(*net.TCPAddr))
		at, h = tls.NewListener(at, secure), withPassword(h, password)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go s.Serve(at) // until it is closed
	return address, func() { s.Close() }, nil
}

// withPassword serves who knows the password, by any name.
func withPassword(h http.Handler, password string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, said, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(said), []byte(password)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="the password is the campaign's token"`)
			http.Error(w, "the password is the token, in the coordinator's folder", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}
