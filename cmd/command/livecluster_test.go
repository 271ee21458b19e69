package command

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/internal/proc"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/zkclient"
)

// znode is all that a client can see of a znode.
type znode struct {
	Path string
	Data string
	ACL  []zk.ACL
	Stat zk.Stat
}

// dump reads a znode and its descendants.
func dump(t *testing.T, c *zkclient.Client, at string) (all []znode) {
	t.Helper()
	data, stat, err := c.Get(at)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if at == "/zookeeper/config" { // each server has there how it reaches the others
		data, stat.DataLength = nil, 0
	}
	acl, _, err := c.GetACL(at)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	all = append(all, znode{at, string(data), acl, *stat})
	names, _, err := c.Children(at)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	slices.Sort(names)
	for _, name := range names {
		all = append(all, dump(t, c, path.Join(at, name))...)
	}
	return all
}

// unparented ignores what a parent shows of its children: the roots of runs are made and removed there, and nothing
// else may show.
func unparented(all []znode, parent string) []znode {
	all = slices.Clone(all)
	for i := range all {
		if all[i].Path == parent {
			all[i].Stat.Cversion, all[i].Stat.Pzxid = 0, 0
		}
	}
	return all
}

const secret = "hush-no-one-knows"

// inhabit fills servers with typical data, and returns the client that owns it.
func inhabit(t *testing.T, e *ensemble.Ensemble) *zkclient.Client {
	t.Helper()
	owner := client(t, e.ConnectString(), zkclient.Digest("me", secret))
	mine := zk.DigestACL(zk.PermAll, "me", secret)
	make := func(path string, flags int32, acl []zk.ACL) {
		if _, err := owner.Create(path, []byte("data of "+path), flags, acl); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	make("/app", 0, zk.WorldACL(zk.PermAll))
	make("/app/config", 0, append(zk.WorldACL(zk.PermRead), mine...))
	make("/app/members", 0, zk.WorldACL(zk.PermAll))
	make("/app/members/m-", zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	make("/app/members/m-", zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	make("/zktorture-of-mine", 0, zk.WorldACL(zk.PermAll))
	make("/mine", 0, mine)
	make("/mine/tortured", 0, mine)
	for i := range 3 {
		if _, err := owner.Set("/app/config", fmt.Append(nil, "version ", i), -1); err != nil {
			t.Fatal(err)
		}
	}
	return owner
}

// A run on servers that hold data touches nothing outside its root. All that is visible before is the same after,
// ephemerals of another session included; its root is gone, and nothing that it prints or writes has its credential.
func TestLiveTouchesNothingElse(t *testing.T) {
	e := ensembletest.Start(t, 3)
	owner := inhabit(t, e)
	before := dump(t, owner, "/")
	auth := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(auth, []byte("me:"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZKTORTURE_TEST_AUTH", "me:"+secret)
	for _, test := range []struct {
		parent string // of the run's root; "" if it must refuse
		status int
		args   []string
	}{
		{"/", console.ExitOK, []string{"lock", "--servers", e.ConnectString(), "--episodes", "40"}},
		{"/app", console.ExitOK, []string{"queue", "--servers", e.ConnectString(), "--episodes", "40",
			"--root", "/app/this"}},
		{"/app", console.ExitOK, []string{"counter", "--servers", e.ConnectString() + "/app", "--episodes", "20",
			"--faults", "none"}},
		{"/mine/tortured", console.ExitOK, []string{"election", "--servers", e.ConnectString() + "/mine/tortured",
			"--episodes", "20", "--auth", auth}},
		{"/mine/tortured", console.ExitOK, []string{"lock", "--servers", e.ConnectString() + "/mine/tortured",
			"--episodes", "20", "--auth", "env:ZKTORTURE_TEST_AUTH"}},
		{"", console.ExitUnknown, []string{"lock", "--servers", e.ConnectString() + "/mine/tortured", "--episodes", "20"}},
		{"", console.ExitUnknown, []string{"lock", "--servers", e.ConnectString(), "--episodes", "20", "--root", "/app"}},
		{"", console.ExitUnknown, []string{"lock", "--servers", e.ConnectString(), "--episodes", "20",
			"--root", "/zktorture-of-mine"}},
		{"/", console.ExitViolation, []string{"queue", "--recipe", "published/DistributedQueue", "--servers", e.ConnectString(),
			"--episodes", "60", "--faults", "loss"}},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			p := torture(t, append([]string{"live", "--seed", "1", "--out", out,
				"--json"}, test.args...)...)
			p.wait(test.status)
			if _, err := owner.Sync("/"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(unparented(before, test.parent),
				unparented(dump(t, owner, "/"), test.parent)); diff != "" {
				t.Error(diff)
			}
			before = dump(t, owner, "/")
			keepsSecret(t, out, p.out.String(), p.err.String())
		})
	}
}

// keepsSecret checks that nothing printed or written contains the secret.
func keepsSecret(t *testing.T, dir string, printed ...string) {
	t.Helper()
	texts := printed
	filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Error(err)
			}
			texts = append(texts, string(text))
		}
		return nil
	})
	digest := sha1.Sum([]byte("me:" + secret))
	for _, text := range texts {
		for _, told := range []string{secret, base64.StdEncoding.EncodeToString([]byte("me:" + secret)),
			base64.StdEncoding.EncodeToString(digest[:])} {
			if strings.Contains(text, told) {
				t.Errorf("%q is in:\n%s", told, text)
			}
		}
	}
}

// Over TLS, with faults too, a run goes as it does without.
func TestLiveTLS(t *testing.T) {
	t.Parallel()
	e := fakezktest.Start(t, server.Config{})
	ca := testkit.NewAuthority(t)
	address := ca.Front(e.ConnectString())
	args := []string{"live", "lock", "--servers", address, "--episodes", "30",
		"--seed", "2", "--json"}
	secured := append(slices.Clone(args), "--tls-ca", ca.CA, "--tls-cert", ca.Cert, "--tls-key", ca.Key,
		"--tls-server-name", testkit.ServerName)
	p := torture(t, append(secured, "--faults", "loss")...)
	p.wait(console.ExitOK)
	var result output.Summary
	if err := json.Unmarshal([]byte(p.out.String()), &result); err != nil || result.Episodes != 30 ||
		result.Struck["loss"] == 0 {
		t.Errorf("%v: %s", err, p.out)
	}
	p = torture(t, append(slices.Clone(secured), "--faults", "none")...)
	p.wait(console.ExitOK)
	p = torture(t, secured[:len(secured)-2]...)
	p.wait(console.ExitUnknown)
	if said := p.err.String(); !strings.Contains(said, "give that as --tls-server-name") {
		t.Error(said)
	}
}

// children are the names below the root of a server.
func children(t *testing.T, c *zkclient.Client, at string) []string {
	t.Helper()
	if _, err := c.Sync(at); err != nil {
		t.Fatal(err)
	}
	names, _, err := c.Children(at)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// program starts the command as a process of its own, as users do.
func program(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command("torture", args...)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, &printed
}

// began waits until a run has made its first object.
func began(t *testing.T, c *zkclient.Client, root string) {
	t.Helper()
	exists, _, made, err := c.ExistsW(root + "/r0")
	if err != nil {
		t.Fatal(err)
	}
	if !exists {
		<-made
	}
}

// SIGINT and SIGTERM end a run with a verdict so far, and its root is gone. After a crash torture clean lists what is
// left, and removes it when told to, but not while it is in use.
func TestLiveEnds(t *testing.T) {
	t.Parallel()
	e := fakezktest.Start(t, server.Config{})
	witness := client(t, e.ConnectString())
	start := func(root string) (*exec.Cmd, *bytes.Buffer) {
		cmd, printed := program(t, "live", "lock", "--servers", e.ConnectString(), "--root", root,
			"--duration", "1h", "--seed", "1")
		began(t, witness, root)
		return cmd, printed
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd, printed := start("/tortured")
		cmd.Process.Signal(signal)
		cmd.Wait()
		if cmd.ProcessState.ExitCode() != console.ExitUnknown ||
			!strings.Contains(printed.String(), "unknown: no violation in the ") {
			t.Errorf("%v: %v\n%s", signal, cmd.ProcessState, printed)
		}
		if left := children(t, witness, "/"); !slices.Equal(left, []string{"zookeeper"}) {
			t.Errorf("%v: left: %q", signal, left)
		}
	}

	clean := func(status int, args ...string) string {
		p := torture(t, append([]string{"clean", "--servers", e.ConnectString()}, args...)...)
		p.wait(status)
		return p.out.String() + p.err.String()
	}
	cmd, _ := start("/tortured")
	if said := clean(console.ExitOK, "--yes"); !strings.Contains(said, "not removed, because session 0x") {
		t.Errorf("of a run that lives: %s", said)
	}
	cmd.Process.Kill()
	cmd.Wait()
	unowned(t, witness, "/tortured")
	listed := regexp.MustCompile(
		`^/tortured: run \w+, begun [\dhms]+ ago, \d+ znodes\nnothing was removed: add --yes`)
	if said := clean(console.ExitOK); !listed.MatchString(said) {
		t.Errorf("of a run that was killed: %s", said)
	}
	if left := children(t, witness, "/"); !slices.Equal(left, []string{"tortured", "zookeeper"}) {
		t.Errorf("removed without being told to: %q", left)
	}
	if said := clean(console.ExitUnknown, "--root", "/zookeeper", "--yes"); !strings.Contains(said, "has no mark") {
		t.Errorf("of what is nobody's: %s", said)
	}
	if said := clean(console.ExitOK, "--root", "/tortured", "--yes"); !strings.Contains(said, "znodes: removed\n") {
		t.Errorf("when told to: %s", said)
	}
	if left := children(t, witness, "/"); !slices.Equal(left, []string{"zookeeper"}) {
		t.Errorf("left: %q", left)
	}
	if said := clean(console.ExitOK); said != "no run has left anything here\n" {
		t.Errorf("of nothing: %s", said)
	}
}

// A run stopped for longer than its session timeout, whose root was removed meanwhile, leaves alone what another
// client has created in its place.
func TestLiveLosesItsRoot(t *testing.T) {
	t.Parallel()
	e := fakezktest.Start(t, server.Config{})
	witness := client(t, e.ConnectString())
	for _, signal := range []os.Signal{os.Interrupt, nil} { // nil: it finds out by itself
		cmd, printed := program(t, "live", "queue", "--servers", e.ConnectString(),
			"--root", "/root", "--duration", "1h", "--seed", "1", "--faults", "none")
		began(t, witness, "/root")
		cmd.Process.Signal(proc.Stop)
		unowned(t, witness, "/root")
		p := torture(t, "clean", "--servers", e.ConnectString(), "--yes")
		if p.wait(console.ExitOK); !strings.Contains(p.out.String(), ": removed") {
			t.Errorf("clean says %s", p.out)
		}
		for _, path := range []string{"/root", "/root/precious", "/root/precious/deep"} {
			if _, err := witness.Create(path, []byte("mine"), 0, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
		}
		before := dump(t, witness, "/root")
		cmd.Process.Signal(proc.Continue)
		if signal != nil {
			cmd.Process.Signal(signal)
		}
		cmd.Wait()
		if diff := cmp.Diff(before, dump(t, witness, "/root")); diff != "" ||
			cmd.ProcessState.ExitCode() != console.ExitUnknown {
			t.Errorf("%v: %v\n%s\n%s", signal, cmd.ProcessState, printed, diff)
		}
		if signal == nil && !strings.Contains(printed.String(), "another program has removed /root, or made it again") {
			t.Errorf("it says %s", printed)
		}
		for _, path := range []string{"/root/precious/deep", "/root/precious", "/root"} {
			if err := witness.Delete(path, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A run whose servers have died ends at once when told to, with what it has found.
func TestLiveEndsWithoutServers(t *testing.T) {
	t.Parallel()
	e := ensembletest.Start(t, 1)
	witness := client(t, e.ConnectString())
	cmd, printed := program(t, "live", "lock", "--servers", e.ConnectString(), "--root", "/root",
		"--duration", "1h", "--seed", "1")
	began(t, witness, "/root")
	if exists, _, judged, err := witness.ExistsW("/root/r20"); err == nil && !exists {
		<-judged
	}
	if err := e.Member(0).Kill(); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Second) // so that it has noticed, on a machine that is not too busy
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	if said := printed.String(); cmd.ProcessState.ExitCode() != console.ExitUnknown ||
		!strings.Contains(said, "no violation in the ") || strings.Contains(said, "the servers have not answered") {
		t.Errorf("%v\n%s", cmd.ProcessState, printed)
	}
}

// A root is below the chroot, or refused.
func TestRootBelowChroot(t *testing.T) {
	e := fakezktest.Start(t, server.Config{})
	witness := client(t, e.ConnectString())
	if _, err := witness.Create("/tenant", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"stuff2", "/../stuff2", "/", "/a/"} {
		for _, args := range [][]string{{"live", "lock", "--episodes", "1"}, {"clean", "--yes"}} {
			p := torture(t, append(args, "--root", root, "--servers", e.ConnectString()+"/tenant")...)
			if p.wait(console.ExitUnknown); !strings.Contains(p.err.String(), "--root") {
				t.Errorf("%q: %s", args, p.err)
			}
		}
	}
	if left := children(t, witness, "/"); !slices.Equal(left, []string{"tenant", "zookeeper"}) {
		t.Errorf("left: %q", left)
	}
}

// unowned waits until there is no ephemeral znode below a path.
func unowned(t *testing.T, c *zkclient.Client, at string) {
	t.Helper()
	exists, stat, gone, err := c.ExistsW(at)
	if err != nil {
		t.Fatal(err)
	}
	if !exists {
		return
	}
	if stat.EphemeralOwner != 0 {
		<-gone
		return
	}
	names, _, err := c.Children(at)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	for _, name := range names {
		unowned(t, c, at+"/"+name)
	}
}
