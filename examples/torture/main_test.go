package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/zktorture/zktorture"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mytorture": main, "torture": func() { zktorture.Main() }})
}

// TestScripts runs testdata/script. Beside testscript's commands there is "status N command…", which runs a command that
// must end with exit status N.
func TestScripts(t *testing.T) {
	status := func(ts *testscript.TestScript, _ bool, args []string) {
		got, exit := 0, new(exec.ExitError)
		if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
			got = exit.ExitCode()
		}
		if args[0] != fmt.Sprint(got) {
			ts.Fatalf("exit status %d, want %s", got, args[0])
		}
	}
	worker, err := filepath.Abs("../publisher/worker.py")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status},
		Setup: func(env *testscript.Env) error {
			env.Setenv("PUBLISHER", worker)
			env.Setenv("PYTHONDONTWRITEBYTECODE", "1")
			return nil
		},
		Condition: func(string) (bool, error) { // kazoo
			return exec.Command("/usr/bin/python3", "-c", "import kazoo").Run() == nil, nil
		},
	})
}
