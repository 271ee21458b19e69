package command

import (
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/coordinator"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/page"
	"github.com/zktorture/zktorture/internal/webpage"
)

// servePage serves the live page until stop is called. On this machine everybody may read it; beyond it asks for a
// password, which is the token, and uses TLS.
func (l *leading) servePage(live *page.Live) (stop func(), err error) {
	listener, err := net.Listen("tcp", l.Page)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(l.Page)
	handler, address := webpage.OwnOnly(live.Handler()), "http://"+listener.Addr().String()
	if !coordinator.Loopback(host) {
		cert, token, err := l.c.Secrets()
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13})
		handler, address = withPassword(live.Handler(), token), "https://"+coordinator.Reachable(listener.Addr())
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener) // until it is closed
	l.say("Page: " + address)
	return func() { server.Close() }, nil
}

// withPassword serves who knows the password, by any name.
func withPassword(h http.Handler, password string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, said, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(said), []byte(password)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="the password is the token, in the coordinator's folder"`)
			http.Error(w, "the password is the token, in the coordinator's folder", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}
