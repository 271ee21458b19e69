package command

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Beyond this machine the page is for who knows the password.
func TestPassword(t *testing.T) {
	h := withPassword(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }), "open")
	for said, want := range map[string]int{"": 401, "wrong": 401, "opener": 401, "open": 200} {
		r, w := httptest.NewRequest("GET", "/status.json", nil), httptest.NewRecorder()
		if said != "" {
			r.SetBasicAuth("anybody", said)
		}
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("to the password %q it says %d", said, w.Code)
		}
	}
}
