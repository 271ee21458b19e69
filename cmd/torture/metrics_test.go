package main

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/testkit"
)

// A soak's metrics count its episodes, operations, violations and each fault. A page whose name was made to lead here
// does not get them.
func TestRunMetrics(t *testing.T) {
	p := torture(t, "run", "lock", "--duration", "1h", "--seed", "1", "--metrics", "127.0.0.1:0",
		"--out", t.TempDir()+"/out")
	url := p.err.await(t, `metrics at (\S+)\n`)[1]
	limit := testkit.Deadline()
	for _, metric := range []string{
		`zktorture_episodes_total [1-9]`, `zktorture_operations_total [1-9]`,
		`zktorture_violations_total 0`, `zktorture_faults_struck_total{fault="loss"} [1-9]`,
	} {
		shown := regexp.MustCompile(`(?m)^` + metric)
		for text := scrape(t, url); !shown.MatchString(text); text = scrape(t, url) {
			if time.Now().After(limit) {
				t.Fatalf("no %s in:\n%s", metric, text)
			}
		}
	}
	foreign, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign.Host = "evil.example"
	answer, err := http.DefaultClient.Do(foreign)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("metrics for evil.example: %s", answer.Status)
	}
	p.signal()
	p.wait(console.ExitUnknown)
}
