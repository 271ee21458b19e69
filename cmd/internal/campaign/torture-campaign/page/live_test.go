package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
	"github.com/zktorture/zktorture/sim"
)

// steering is what must not get through: markup, an end of a script, and what steers a terminal or turns a line around.
const steering = "<img src=x onerror=alert(1)></script><b>\x1b]0;pwned\a\u202e\x9b"

// steers reports whether something of it has come through.
func steers(text string) bool {
	return strings.ContainsAny(text, "\x1b\a\u202e") || !utf8.ValidString(text)
}

// broken is a campaign in which recipes broke, with untrusted texts everywhere.
func broken(jobs, failures int) status.Status {
	s := running()
	s.Plan.Name = "night " + steering
	s.Workers = append(s.Workers,
		status.Worker{Name: "two" + steering, Build: "b2" + steering, System: steering,
			Refused: "its build is not that of the plan " + steering, Last: s.Now},
		status.Worker{Name: "three", Build: "b1", System: "linux/arm64", Units: 4, Unit: -1, Last: s.Now.Add(-time.Hour)})
	s.Units, s.Unknown = s.Units+jobs, map[int]string{4: "it froze: " + steering}
	lock := s.Jobs[1]
	lock.Coverage = &sim.Coverage{Operations: map[string]map[string]sim.FaultCoverage{
		"acquire": {"loss": {Offered: 92, Struck: 45}, "crash": {Offered: 60, Struck: 60}, "time": {Offered: 12}},
		"release": {"loss": {Offered: 40, Struck: 39}, "crash": {Offered: 20, Struck: 1}},
		"":        {"expiry": {Offered: 9, Struck: 5}, "<b>": {Offered: 9, Struck: 5}},
	}}
	for i := range jobs {
		job := lock
		job.Kind, job.Recipe = []string{"lock", "queue", "counter"}[i%3], []string{"ours", "curator", "kazoo"}[i/3%3]
		job.Seed, job.Episodes, job.Done = uint64(i), 100*i, i%11
		if i < failures {
			job.Recipe = "yours " + steering
			job.Failures = i + 1
			job.Found = []status.Found{{Property: "order", Message: fmt.Sprintf("b came before a, %d %s", i, steering),
				Times: i + 1, First: 17,
				ID: "f00d", Story: "the story of " + fmt.Sprint(i) + " " + steering}}
		}
		s.Jobs = append(s.Jobs, job)
	}
	return s
}

func get(t *testing.T, h http.Handler, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest("GET", "http://127.0.0.1:8080"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	var out strings.Builder
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(out.String(), "\r\n\r\n")
	return text
}

// What is served has the headers that keep it apart, and is not sent again to who has it.
func TestServed(t *testing.T) {
	l := NewLive()
	l.Observe(broken(2, 1))
	h := l.Handler()
	for path, kind := range map[string]string{"/": "text/html", "/status.json": "application/json",
		"/story?job=3&property=order": "text/plain"} {
		r := get(t, h, path)
		if r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), kind) ||
			r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d, %v", path, r.StatusCode, r.Header)
		}
	}
	policy := get(t, h, "/").Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "script-src 'unsafe") ||
		strings.Contains(policy, "http") {
		t.Errorf("the policy is %s", policy)
	}
	for _, path := range []string{"/story", "/story?job=3&property=no", "/story?job=99&property=order",
		"/story?job=-1&property=order",
		"/story?job=x&property=order", "/other", "/../etc/passwd"} {
		if r := get(t, h, path); r.StatusCode/100 == 2 {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
	version := get(t, h, "/status.json").Header.Get("ETag")
	if r := get(t, h, "/status.json", "If-None-Match", version); r.StatusCode != http.StatusNotModified {
		t.Errorf("the same again: %d", r.StatusCode)
	}
	later := broken(2, 1)
	later.Episodes++
	l.Observe(later)
	if r := get(t, h, "/status.json", "If-None-Match", version); r.StatusCode != 200 {
		t.Errorf("something new: %d", r.StatusCode)
	}
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, httptest.NewRequest("POST", "http://127.0.0.1/", nil)); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// Of what a page shows nothing steers.
func TestServedTextIsPlain(t *testing.T) {
	l := NewLive()
	l.Observe(broken(3, 3))
	for _, path := range []string{"/status.json", "/story?job=3&property=order"} {
		text := body(t, get(t, l.Handler(), path))
		if steers(text) || !strings.Contains(text, "pwned") {
			t.Errorf("%s: %q", path, text)
		}
	}
	var v view
	if err := json.Unmarshal([]byte(body(t, get(t, l.Handler(), "/status.json"))), &v); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(v.Found[0].Message, `\u001b]0;pwned\u0007\u202e\x9b`) {
		t.Errorf("the message is %q", v.Found[0].Message)
	}
}

// A course keeps its beginning, its end and its sum, however long it gets, and goes on when the clock is put back.
func TestCourse(t *testing.T) {
	var c course
	s := running()
	for i := range 100_000 {
		s.Now, s.Episodes = s.Began.Add(time.Duration(i)*time.Second), 50*i
		c.add(s, Judgement{})
		if len(c.points) > pointsMax {
			t.Fatalf("after %d moments it has %d points", i, len(c.points))
		}
	}
	v := c.view()
	if len(v.Times) < pointsMax/3 || v.Times[len(v.Times)-1] != 99_999 || c.points[0].at != 0 {
		t.Errorf("%d points, from %v to %v", len(v.Times), c.points[0].at, v.Times[len(v.Times)-1])
	}
	for i, rate := range v.Rates {
		if rate < 49.9 || rate > 50.1 {
			t.Errorf("point %d has a rate of %v", i, rate)
		}
	}
	for i := 1; i < len(c.points); i++ {
		if gap := (c.points[i].at - c.points[i-1].at).Seconds(); gap > 450 || gap <= 0 {
			t.Errorf("between %v and %v is nothing", c.points[i-1].at, c.points[i].at)
		}
	}
	s.Now = s.Began.Add(time.Hour)
	c.add(s, Judgement{})
	if v := c.view(); v.Times[len(v.Times)-1] != 3600 {
		t.Errorf("when the clock was put back it ends at %v", v.Times[len(v.Times)-1])
	}
}

// The matrix counts what jobs that are not of the zoo have shown.
func TestMatrix(t *testing.T) {
	c := &sim.Coverage{Operations: map[string]map[string]sim.FaultCoverage{"acquire": {"loss": {Offered: 10, Struck: 5},
		"crash": {Offered: 4}}}}
	m := matrixOf(func(yield func(campaign.Job, *sim.Coverage) bool) {
		_ = yield(campaign.Job{Kind: "lock"}, c) && yield(campaign.Job{Kind: "lock", Seed: 2}, c) &&
			yield(campaign.Job{Kind: "lock", Animal: "W1"}, c) && yield(campaign.Job{Kind: "lock"}, nil)
	})
	text, _ := json.Marshal(m)
	want := `{"faults":["crash","loss"],"rows":[{"kind":"lock","operation":"acquire",` +
		`"cells":[{"struck":0,"offered":8},{"struck":10,"offered":20}]}]}`
	if string(text) != want {
		t.Errorf("it is %s", text)
	}
	for cell, want := range map[matrixCell]int{{0, 9}: 0, {1, 1000}: 1, {999, 1000}: 99, {9, 9}: 100, {1, 2}: 50, {0,
		0}: 0} {
		if got := cell.Percent(); got != want {
			t.Errorf("%v is %d %%", cell, got)
		}
	}
}
