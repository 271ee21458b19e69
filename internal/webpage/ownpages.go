package webpage

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// OwnOnly serves what no page of others has asked for. What comes in by an address of loopback has to call the server by
// one: a page whose name was made to lead here (DNS rebinding) calls it by that name. A request of a page elsewhere,
// which browsers mark, is refused whatever its method. Beyond loopback no page may do anything: a name says nothing
// there.
func OwnOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		within := arrivedOnLoopback(r)
		switch {
		case within && !onLoopback(r.Host):
			http.Error(w, "this server is for its own machine: call it http://127.0.0.1 or http://localhost, with its port",
				http.StatusMisdirectedRequest)
		case foreign(r) || !within && r.Header.Get("Origin") != "":
			http.Error(w, "this server takes no requests of pages elsewhere: ask it from a program, or open it itself",
				http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// foreign reports whether a page of another origin has asked. The check passes over methods that change nothing, but
// some of ZooKeeper's commands change something by GET.
func foreign(r *http.Request) bool {
	post := *r
	post.Method = http.MethodPost
	return http.NewCrossOriginProtection().Check(&post) != nil
}

// arrivedOnLoopback reports whether a request has come in by an address of loopback, or by none.
func arrivedOnLoopback(r *http.Request) bool {
	to, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return !ok || onLoopback(to.String())
}

func onLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}
