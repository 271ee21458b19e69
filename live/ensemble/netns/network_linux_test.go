package netns_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble/netns"
)

// role makes the test binary play a program that uses the package.
const role = "NETNS_TEST_ROLE"

func TestMain(m *testing.M) {
	plays := map[string]func() error{"make": makeAndHang, "gain": gainAndTell, "user namespace": tryUserNamespace}
	play := plays[os.Getenv(role)]
	if play == nil {
		os.Exit(m.Run())
	}
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func needsNetworks(t *testing.T) {
	t.Helper()
	if err := netns.Allowed(); err != nil {
		t.Skip(err)
	}
}

func newNetwork(t *testing.T, hosts int) *netns.Network {
	t.Helper()
	needsNetworks(t)
	n, err := netns.New(hosts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// connect returns the two ends of a connection between hosts.
func connect(t *testing.T, n *netns.Network, from, to int) (dialled, accepted net.Conn) {
	t.Helper()
	var listener net.Listener
	err := n.Do(to, func() (err error) {
		listener, err = net.Listen("tcp4", net.JoinHostPort(n.Address(to).String(), "0"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	err = n.Do(from, func() (err error) {
		dialled, err = net.DialTimeout("tcp4", listener.Addr().String(), testkit.Hang)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if accepted, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{dialled, accepted} {
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(testkit.Deadline())
	}
	return dialled, accepted
}

func wantArrives(t *testing.T, from, to net.Conn, message string) {
	t.Helper()
	io.WriteString(from, message)
	got := make([]byte, len(message))
	if _, err := io.ReadFull(to, got); err != nil || string(got) != message {
		t.Errorf("read %q, %v; want %q", got, err, message)
	}
}

// wantSwallowed sends what must not arrive while the link is cut. It arrives afterwards: TCP sends it again.
func wantSwallowed(t *testing.T, from, to net.Conn, message string) {
	t.Helper()
	io.WriteString(from, message)
	to.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := to.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes arrived over a link that is cut, %v", n, err)
	}
	to.SetReadDeadline(testkit.Deadline())
}

// Hosts see each other by their addresses; a link that is cut swallows, in its direction only, and delivers when it
// is healed.
func TestLinks(t *testing.T) {
	n := newNetwork(t, 3)
	a, b := connect(t, n, 0, 1)
	if host, _, _ := net.SplitHostPort(b.RemoteAddr().String()); host != n.Address(0).String() {
		t.Errorf("host 0 is seen as %s, want %v", host, n.Address(0))
	}
	c, d := connect(t, n, 2, 1)
	wantArrives(t, a, b, "whole")
	heal := n.Lose(1, netns.Link{From: 0, To: 1})
	wantSwallowed(t, a, b, "cut")
	wantArrives(t, c, d, "another link")
	heal()
	got := make([]byte, 3)
	if _, err := io.ReadFull(b, got); err != nil || string(got) != "cut" {
		t.Errorf("after healing: %q, %v", got, err)
	}
	wantArrives(t, a, b, "whole again")
	n.Lose(0.2, netns.Link{From: 0, To: 1}, netns.Link{From: 1, To: 0})
	wantArrives(t, a, b, "TCP copes with a loss")
	n.Heal()
}

func TestBigTransfer(t *testing.T) {
	n := newNetwork(t, 2)
	a, b := connect(t, n, 0, 1)
	const size = 20 << 20
	go func() { a.Write(make([]byte, size)); a.Close() }()
	if got, err := io.Copy(io.Discard, b); err != nil || got != size {
		t.Errorf("%d bytes arrived, of %d, %v", got, size, err)
	}
}

// A host sees nothing of this machine's network, nor the other way round.
func TestIsolated(t *testing.T) {
	n := newNetwork(t, 1)
	outside, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	n.Do(0, func() error {
		if c, err := net.Dial("tcp4", outside.Addr().String()); err == nil {
			c.Close()
			t.Error("a host reaches the loopback interface of the machine")
		}
		return nil
	})
	own, err := os.Readlink("/proc/self/ns/net")
	n.Do(0, func() error {
		if inside, _ := os.Readlink("/proc/thread-self/ns/net"); inside == own || err != nil {
			t.Errorf("namespace %s inside, %s outside, %v", inside, own, err)
		}
		return nil
	})
	if after, _ := os.Readlink("/proc/self/ns/net"); after != own {
		t.Errorf("the process is in namespace %s, it was in %s", after, own)
	}
}

func TestRefusesSizes(t *testing.T) {
	for _, hosts := range []int{0, -1, 65} {
		if _, err := netns.New(hosts); err == nil || !strings.Contains(err.Error(), "must be 1 to") {
			t.Errorf("%d hosts: %v", hosts, err)
		}
	}
}

// TestLeavesNothing kills a process that makes a network and starts a child in it, at random moments.
func TestLeavesNothing(t *testing.T) {
	needsNetworks(t)
	before := namesOutside(t)
	draw := rand.New(rand.NewPCG(1, 1))
	for i := range 20 {
		tag := fmt.Sprintf("NETNS_TEST_TAG=%d-%d", os.Getpid(), i)
		cmd := inRole("make", os.Args[0], tag)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%4 > 0 { // soon after the start, or when all is there
			after := time.NewTimer(time.Duration(draw.IntN(30_000)) * time.Microsecond)
			<-after.C
		} else if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatalf("it made nothing: %q, %v", line, err)
		}
		cmd.Process.Kill()
		cmd.Wait()
		wantNoneWith(t, tag)
	}
	if after := namesOutside(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func inRole(name, binary string, env ...string) *exec.Cmd {
	cmd := exec.Command(binary)
	cmd.Env = append(append(os.Environ(), role+"="+name), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// makeAndHang makes a network and a child in it, says so, and waits for ever.
func makeAndHang() error {
	if err := netns.Gain(); err != nil {
		return err
	}
	n, err := netns.New(5)
	if err != nil {
		return err
	}
	return n.Do(3, func() error {
		child := exec.Command("sleep", "1000")
		child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := child.Start(); err != nil {
			return err
		}
		fmt.Println("made")
		return child.Wait()
	})
}

// namesOutside is what could be left: interfaces, named namespaces and namespaces kept by a mount.
func namesOutside(t *testing.T) string {
	t.Helper()
	interfaces, err := net.Interfaces()
	mounts, cannot := os.ReadFile("/proc/self/mountinfo")
	if err := errors.Join(err, cannot); err != nil {
		t.Fatal(err)
	}
	named, _ := filepath.Glob("/run/netns/*")
	return fmt.Sprintln(interfaces, named, strings.Count(string(mounts), " nsfs "))
}

// wantNoneWith waits until no process has a setting in its environment. The kernel takes away a child's child last.
func wantNoneWith(t *testing.T, setting string) {
	t.Helper()
	testkit.Until(t, "no process has "+setting, func() bool { return len(having(setting)) == 0 })
}

func having(setting string) (processes []string) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), setting) {
			processes = append(processes, path)
		}
	}
	return processes
}

// As a user without privileges the same works by Gain, where user namespaces are allowed; and the program is the same
// user, with its arguments, its network, its exit status and the signals that are for it.
func TestGain(t *testing.T) {
	needsNetworks(t)
	binary := copyOfBinary(t)
	needsUserNamespaces(t, binary)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		tag := fmt.Sprintf("NETNS_TEST_TAG=gain-%d-%d", os.Getpid(), signal)
		cmd := unprivileged(inRole("gain", binary, tag))
		cmd.Args = append(cmd.Args, "an argument")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("user %d, arguments [\"an argument\"], network made, outside reached\n",
			cmd.SysProcAttr.Credential.Uid)
		if line, err := bufio.NewReader(out).ReadString('\n'); line != want {
			t.Errorf("it says %q, %v; want %q", line, err, want)
		}
		cmd.Process.Signal(signal)
		cmd.Wait()
		if status := cmd.ProcessState.ExitCode(); signal == syscall.SIGTERM && status != 42 {
			t.Errorf("exit status %d, want 42", status)
		}
		wantNoneWith(t, tag)
	}
}

func needsUserNamespaces(t *testing.T, binary string) {
	t.Helper()
	if out, err := unprivileged(inRole("user namespace", binary)).Output(); err != nil {
		t.Skipf("a user without privileges may have no user namespace here: %v, %s", err, out)
	}
	if info, err := os.Stat("/dev/net/tun"); os.Getuid() == 0 && (err != nil || info.Mode().Perm()&0o006 != 0o006) {
		t.Skip("a user without privileges may not use /dev/net/tun here")
	}
}

// tryUserNamespace asks the kernel directly, by starting a program in one.
func tryUserNamespace() error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return cmd.Run()
}

// nobody is a user without privileges.
const nobody = 65534

// unprivileged has a command run by a user without privileges: nobody, if this is root.
func unprivileged(cmd *exec.Cmd) *exec.Cmd {
	user := &syscall.Credential{Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid()), NoSetGroups: true}
	if user.Uid == 0 {
		user.Uid, user.Gid, user.NoSetGroups = nobody, nobody, false
	}
	cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Credential: user}, "/"
	return cmd
}

// copyOfBinary is a copy of the test binary in a folder that everybody may read.
func copyOfBinary(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "netns-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	content, err := os.ReadFile("/proc/self/exe")
	path := filepath.Join(dir, "netns.test")
	if err := errors.Join(err, os.Chmod(dir, 0o755), os.WriteFile(path, content, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

// gainAndTell exits with 42 when it gets SIGTERM.
func gainAndTell() error {
	if err := netns.Gain(); err != nil {
		return err
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	n, err := netns.New(2)
	if err != nil {
		return err
	}
	defer n.Close()
	outside, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := net.Dial("tcp4", outside.Addr().String()); err != nil {
		return err
	}
	fmt.Printf("user %d, arguments %q, network made, outside reached\n", os.Getuid(), os.Args[1:])
	<-terminated
	os.Exit(42)
	return nil
}
