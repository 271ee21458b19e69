package zkclient_test

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/live/zkclient"
)

func TestParseServers(t *testing.T) {
	tests := []struct {
		in     string
		want   []string
		chroot string
	}{
		{"a", []string{"a:2181"}, ""},
		{"a:1", []string{"a:1"}, ""},
		{" a:1 , b:2 ", []string{"a:1", "b:2"}, ""},
		{"a:1,b:2/app/x", []string{"a:1", "b:2"}, "/app/x"},
		{"a/", []string{"a:2181"}, ""},
		{"192.0.2.1:3000,192.0.2.2", []string{"192.0.2.1:3000", "192.0.2.2:2181"}, ""},
		{"::1", []string{"[::1]:2181"}, ""},
		{"[::1]", []string{"[::1]:2181"}, ""},
		{"[::1]:99/r", []string{"[::1]:99"}, "/r"},
	}
	for _, test := range tests {
		got, chroot, err := zkclient.ParseServers(test.in)
		if err != nil {
			t.Errorf("%q: %v", test.in, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || chroot != test.chroot {
			t.Errorf("%q: chroot %q, addresses (-want +got):\n%s", test.in, chroot, diff)
		}
	}
}

func TestParseServersRefuses(t *testing.T) {
	tests := []struct{ in, says string }{
		{"", "an address is missing"},
		{"a,,b", "an address is missing"},
		{"a,", "an address is missing"},
		{"/app", "an address is missing"},
		{":2181", "no host name"},
		{"a b:2181", "no host name"},
		{"a:", `port ""`},
		{"a:0", `port "0"`},
		{"a:65536", `port "65536"`},
		{"a:zk", `port "zk"`},
		{"a:1:2", "too many colons"},
		{"[::1:99", "missing ']'"},
		{"[a]", "missing port"},
		{"a/app,b:2181", "after all addresses"},
		{"a//app", "no path for a chroot"},
		{"a/app/", "no path for a chroot"},
		{"a/../app", "no path for a chroot"},
	}
	for _, test := range tests {
		_, _, err := zkclient.ParseServers(test.in)
		wantError(t, err, strconv.Quote(test.in), test.says)
	}
}

// What it returns it takes again, unchanged.
func TestParseServersKeepsWhatItReturns(t *testing.T) {
	host := rapid.StringMatching(`[a-z][a-z0-9.-]{0,8}|192\.0\.2\.\d|2001:db8::[0-9a-f]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		var addresses []string
		for range rapid.IntRange(1, 4).Draw(t, "hosts") {
			port := rapid.IntRange(1, 65535).Draw(t, "port")
			addresses = append(addresses, net.JoinHostPort(host.Draw(t, "host"), strconv.Itoa(port)))
		}
		chroot := rapid.StringMatching(`(/[a-z]{1,3}){0,3}`).Draw(t, "chroot")
		got, gotChroot, err := zkclient.ParseServers(strings.Join(addresses, ",") + chroot)
		if diff := cmp.Diff(addresses, got); diff != "" || gotChroot != chroot || err != nil {
			t.Fatalf("chroot %q, error %v, addresses (-want +got):\n%s", gotChroot, err, diff)
		}
	})
}
