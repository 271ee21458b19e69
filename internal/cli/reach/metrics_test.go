package reach

import (
	"io"
	"strings"
	"testing"
	"time"
)

// Durations are counted in slots, each with those before it, as Prometheus's exposition format wants it.
func TestDurations(t *testing.T) {
	var d durations
	d.add("get", nil, 200*time.Microsecond)
	d.add("get", nil, 201*time.Microsecond)
	d.add("get", nil, time.Hour)
	d.add("create", io.EOF, time.Millisecond)
	var text strings.Builder
	d.write(Exposition{&text})
	for _, want := range []string{
		"# TYPE zktorture_request_seconds histogram\nzktorture_request_seconds_bucket{op=\"create\",outcome=\"error\",le=\"0.0002\"} 0\n",
		"{op=\"get\",outcome=\"ok\",le=\"0.0002\"} 1\nzktorture_request_seconds_bucket{op=\"get\",outcome=\"ok\",le=\"0.0005\"} 2\n",
		"le=\"0.0078125\"} 2\n", "{op=\"get\",outcome=\"ok\",le=\"+Inf\"} 3\n",
		"_sum{op=\"get\",outcome=\"ok\"} 3600.000401\nzktorture_request_seconds_count{op=\"get\",outcome=\"ok\"} 3\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
