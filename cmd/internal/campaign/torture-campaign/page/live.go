package page

import (
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/internal/webpage"
)

// assets are the pages' layouts, styles and scripts, and uPlot (MIT), which draws the plots.
//
//go:embed assets
var assets embed.FS

func asset(name string) string {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // embedded at compile time
	}
	return string(data)
}

// Live is the live page of a campaign, and what it remembers of the campaign's course. It is safe for concurrent use.
type Live struct {
	mu      sync.Mutex
	last    status.Status
	course  course
	view    []byte // JSON of the last status; nil: not made yet
	version string // of the view
}

// NewLive returns a page to which nothing is known yet.
func NewLive() *Live { return &Live{} }

// Observe takes in how far the campaign is. It is to be called every few seconds, whether or not somebody looks. The
// status must not change afterwards.
func (l *Live) Observe(s status.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.course.add(s, judge(s, nil))
	l.last, l.view = s, nil
}

// observed is the last status.
func (l *Live) observed() status.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Handler serves the page at /, what it shows at /status.json, the text of a story at /story, and metrics at /metrics. It
// does not ask who calls: see package ownpages.
func (l *Live) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", livePolicy)
		io.WriteString(w, livePage)
	})
	mux.HandleFunc("GET /status.json", l.serveStatus)
	mux.HandleFunc("GET /story", l.serveStory)
	registry := prometheus.NewRegistry()
	registry.MustRegister(newMetrics(l.observed))
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache")
		mux.ServeHTTP(w, r)
	})
}

// livePage is the page; what it shows it fetches.
var livePage, livePolicy = func() (page, policy string) {
	script := asset("uplot.js") + asset("table.js") + asset("live.js")
	var out strings.Builder
	data := struct {
		Style  template.CSS
		Script template.JS
	}{template.CSS(asset("uplot.css") + webpage.Look + asset("page.css")), template.JS(script)}
	if err := template.Must(template.New("live").Parse(asset("live.html"))).Execute(&out, data); err != nil {
		panic(err) // embedded at compile time
	}
	return out.String(), "default-src 'none'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; " +
		"base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'; script-src " + escape.Script(script)
}()

// serveStatus serves the view. A browser that has it already is told so.
func (l *Live) serveStatus(w http.ResponseWriter, r *http.Request) {
	view, version, err := l.current()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("ETag", version)
	if r.Header.Get("If-None-Match") == version {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(view)
}

// current is the view of the last status.
func (l *Live) current() ([]byte, string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.view == nil {
		view, err := json.Marshal(viewOf(l.last, judge(l.last, nil), &l.course))
		if err != nil {
			return nil, "", err
		}
		l.view, l.version = view, fmt.Sprintf(`"%x"`, sha256.Sum256(view))
	}
	return l.view, l.version, nil
}

// serveStory serves the story of a failure, by the number of its job and the property as the view has it.
func (l *Live) serveStory(w http.ResponseWriter, r *http.Request) {
	jobs := l.observed().Jobs
	number, err := strconv.Atoi(r.FormValue("job"))
	if err == nil && number >= 0 && number < len(jobs) {
		for _, f := range jobs[number].Found {
			if escape.Text(f.Property) == r.FormValue("property") {
				w.Header().Set("Content-Type", "text/plain; charset=utf-8")
				io.WriteString(w, escape.Text(f.Story))
				return
			}
		}
	}
	http.Error(w, "there is no such story", http.StatusNotFound)
}
