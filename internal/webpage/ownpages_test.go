package webpage

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Only who calls the machine by an address of loopback is served, and no page of another origin.
func TestOwnOnly(t *testing.T) {
	h := OwnOnly(http.NotFoundHandler())
	const within, beyond = "127.0.0.1:8080", "10.0.0.1:8080"
	for _, test := range []struct {
		at, host, header, value string
		want                    int
	}{
		{within, "127.0.0.1:8080", "", "", 404},
		{within, "127.0.0.1", "", "", 404},
		{within, "localhost:80", "", "", 404},
		{within, "LOCALHOST", "", "", 404},
		{within, "[::1]:8080", "", "", 404},
		{within, "[::1]", "", "", 404},
		{within, "evil.example:8080", "", "", 421},
		{within, "localhost.evil.example", "", "", 421},
		{within, "10.0.0.1:8080", "", "", 421},
		{within, "", "", "", 421},
		{within, "127.0.0.1.evil.example", "", "", 421},
		{"[::ffff:127.0.0.1]:8080", "evil.example", "", "", 421},
		{"", "evil.example", "", "", 421},

		{within, "127.0.0.1:8080", "Origin", "http://127.0.0.1:8080", 404},
		{within, "127.0.0.1:8080", "Sec-Fetch-Site", "same-origin", 404},
		{within, "127.0.0.1:8080", "Sec-Fetch-Site", "none", 404},
		{within, "127.0.0.1:8080", "Origin", "http://127.0.0.1:8081", 403},
		{within, "127.0.0.1:8080", "Origin", "http://evil.example", 403},
		{within, "127.0.0.1:8080", "Origin", "null", 403},
		{within, "127.0.0.1:8080", "Sec-Fetch-Site", "cross-site", 403},
		{within, "127.0.0.1:8080", "Sec-Fetch-Site", "same-site", 403},

		{beyond, "zookeeper:8080", "", "", 404},
		{beyond, "10.0.0.1:8080", "", "", 404},
		{beyond, "evil.example:8080", "Origin", "http://evil.example:8080", 403},
		{beyond, "10.0.0.1:8080", "Origin", "http://evil.example", 403},
	} {
		for _, method := range []string{"GET", "POST"} {
			r := httptest.NewRequest(method, "/", nil)
			if test.at != "" {
				at, err := net.ResolveTCPAddr("tcp", test.at)
				if err != nil {
					t.Fatal(err)
				}
				r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, at))
			}
			if r.Host = test.host; test.header != "" {
				r.Header.Set(test.header, test.value)
			}
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != test.want {
				t.Errorf("%s %+v: %d", method, test, w.Code)
			}
		}
	}
}
