package linearizability

import (
	"strings"
	"testing"
	"time"
)

func TestPermitTranscripts(t *testing.T) {
	for _, m := range []Model{RWLock(), Semaphore(2)} {
		transcripts := readTranscripts(t, m.Name)
		if len(transcripts) < 10 {
			t.Fatalf("%s: only %d transcripts were found", m.Name, len(transcripts))
		}
		for _, tr := range transcripts {
			t.Run(m.Name+"/"+tr.title, func(t *testing.T) {
				got := summary(Check(m, tr.history, Options{})[0])
				reason, unknown := strings.CutPrefix(tr.want, "unknown: ")
				if got != tr.want && !(unknown && strings.HasPrefix(got, "unknown: ") &&
					strings.Contains(got, reason)) {
					t.Errorf("got %q, want %q", got, tr.want)
				}
			})
		}
	}
}

// A history too long for a search is judged by the sure holds.
func TestOverdraftInALongHistory(t *testing.T) {
	var h History
	for i := range int64(3000) {
		c := int(i % 5)
		h = append(h, Operation{Client: c, Op: "racquire", Call: 10 * i, Return: 10*i + 1},
			Operation{Client: c, Op: "rrelease", Call: 10*i + 45, Return: 10*i + 46})
	}
	h = append(h, Operation{Client: 9, Op: "acquire", Call: 15002, Return: 15003},
		Operation{Client: 9, Op: "release", Call: 15004, Return: 15005})
	if v := Check(RWLock(), h, Options{Timeout: 5 * time.Second})[0]; v.Property != "exclusion" ||
		len(v.Operations) > 12 {
		t.Errorf("%v", v)
	}
}
