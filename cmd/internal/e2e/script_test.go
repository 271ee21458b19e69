// Package e2e tests the command as its users have it: installed, in scripts, in teams that write Python and Java, and in a
// browser.
package e2e

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/zktorture/zktorture/cmd/command"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/internal/testkit"
)

var update = flag.Bool("update", false, "paste what came out into the scripts")

// asTorture has this binary be the command torture.
const asTorture = "ZKTORTURE_E2E_AS_TORTURE"

// TestMain lets tests run the command as a process of its own. A run starts its own program as workers, which must not
// run the tests again.
func TestMain(m *testing.M) {
	worker := len(os.Args) > 1 && os.Args[1] == "worker" && filepath.Base(os.Args[0]) != "mytorture"
	if worker || os.Getenv(asTorture) != "" {
		command.Main()
	}
	testscript.Main(m, map[string]func(){
		"torture":   func() { command.Main() },
		"mytorture": func() { command.Main(ownKinds()...) },
	})
}

// TestScripts runs testdata/script. Beside testscript's commands there are:
//
//	status N command…   runs the command; it must end with exit status N
//	await FILE          waits until the file is there
//
// At $SERVERS is a ZooKeeper in memory.
func TestScripts(t *testing.T) {
	t.Parallel()
	servers := fakezktest.Start(t, server.Config{}).ConnectString()
	testscript.Run(t, testscript.Params{
		Setup: func(e *testscript.Env) error {
			e.Setenv("SERVERS", servers)
			return nil
		},
		Condition:     func(string) (bool, error) { return os.Getenv("ZKTORTURE_SERVERS") != "", nil }, // servers: make live
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": exitStatus,
			"await":  awaitFile,
		},
	})
}

func exitStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit := new(exec.ExitError)
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func awaitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	name := ts.MkAbs(args[0])
	timeout := time.After(testkit.Hang)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(name); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			ts.Fatalf("%s did not turn up within %v", args[0], testkit.Hang)
		}
	}
}
