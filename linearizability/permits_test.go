package linearizability

import (
	"testing"
	"time"
)

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
	if v := Check(RWLock(), h, 5*time.Second)[0]; v.Property != "exclusion" ||
		len(v.Operations) > 12 {
		t.Errorf("%v", v)
	}
}
