package ensemble_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
)

// role makes the test binary play a program that uses the package, for tests about processes.
const role = "ENSEMBLE_TEST_ROLE"

func TestMain(m *testing.M) {
	roles := map[string]func() error{"": nil, "start": startAndHang}
	play, ok := roles[os.Getenv(role)]
	switch {
	case !ok:
		fmt.Fprintln(os.Stderr, "no such role:", os.Getenv(role))
		os.Exit(1)
	case play == nil:
		status := m.Run()
		if shared != nil {
			shared.Stop()
		}
		os.Exit(status)
	}
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inRole is a command that runs this test binary in a role.
func inRole(name string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), role+"="+name), env...)
	return cmd
}

// startAndHang starts servers, prints their pids on a line, and never stops them.
func startAndHang() error {
	e, err := ensemble.Start(context.Background(), ensemble.Options{Nodes: 3})
	if err != nil {
		return err
	}
	fmt.Println(pids(e))
	select {}
}

func pids(e *ensemble.Ensemble) []int {
	var found []int
	for i := range e.Servers() {
		if pid, ok := e.Member(i).Pid(); ok {
			found = append(found, pid)
		}
	}
	return found
}

// wantError fails unless err says all the words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that says %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error does not say %q:\n%v", word, err)
		}
	}
}

func needsServers(t *testing.T) {
	t.Helper()
	testkit.NeedServers(t)
}
