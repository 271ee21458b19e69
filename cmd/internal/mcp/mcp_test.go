package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/zktorture/zktorture/internal/testkit"
)

// agent is a client that talks to the command.
type agent struct {
	*testing.T
	*mcp.ClientSession
	dir string
}

// connect starts the command in a folder.
func connect(t *testing.T) *agent {
	t.Helper()
	program := filepath.Join(t.TempDir(), "torture")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "../../torture")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	a := &agent{T: t, dir: t.TempDir()}
	command := exec.Command(program, "mcp", "--root", a.dir)
	command.Stderr, command.Env = os.Stderr, append(os.Environ(), "GOWORK=off")
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		if !command.ProcessState.Success() {
			t.Errorf("the server has ended with %v", command.ProcessState)
		}
	})
	a.ClientSession = session
	return a
}

type arguments = map[string]any

// reply is what a tool returns.
type reply struct {
	Status  int
	Result  json.RawMessage
	Text    string
	Stories []json.RawMessage
}

// ask calls a tool.
func (a *agent) ask(ctx context.Context, tool string, in arguments) (out reply, failed string) {
	a.Helper()
	result, err := a.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		if ctx.Err() != nil {
			return out, err.Error()
		}
		a.Fatal(err)
	}
	if result.IsError {
		return out, result.Content[0].(*mcp.TextContent).Text
	}
	if len(result.Content) != 1 || result.StructuredContent != nil {
		a.Fatalf("%s answers more than once: %+v", tool, result)
	}
	if err := json.Unmarshal([]byte(result.Content[0].(*mcp.TextContent).Text), &out); err != nil {
		a.Fatal(err)
	}
	return out, ""
}

// got is what a tool returns that can be done.
func (a *agent) got(tool string, in arguments) reply {
	a.Helper()
	out, failed := a.ask(a.Context(), tool, in)
	if failed != "" {
		a.Fatalf("%s %v: %s", tool, in, failed)
	}
	return out
}

// An agent finds a recipe, runs it, reads why it broke, and runs it again; and it does so with a test of its own. What
// cannot be done is the error of a tool, which says what to do.
func TestTools(t *testing.T) {
	a := connect(t)
	if out := a.got("list", arguments{"what": "kinds"}); !strings.Contains(string(out.Result), `"name":"lock"`) {
		t.Errorf("list says %.500s", out.Result)
	}
	if out := a.got("help", arguments{"property": "orphan"}); !strings.Contains(out.Text, "left behind") {
		t.Errorf("help says %s", out.Text)
	}
	broken := arguments{"kind": "lock", "recipe": "published/WriteLock", "faults": "none", "seed": 1, "episodes": 200}
	run := a.got("run", broken)
	var told struct {
		Property, Title string
		Cause           struct{ Text string }
	}
	if run.Status != 1 || len(run.Stories) != 1 || json.Unmarshal(run.Stories[0], &told) != nil || told.Cause.Text == "" {
		t.Fatalf("run says %s", run.Result)
	}
	files, err := filepath.Glob(filepath.Join(a.dir, "counterexamples", "*-"+told.Property+"-????????.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if again := a.got("explain", arguments{"file": files[0]}); string(again.Result) != string(run.Stories[0]) {
		t.Errorf("explain says %s", again.Result)
	}
	if again := a.got("replay", arguments{"file": "counterexamples/" + filepath.Base(files[0])}); again.Status != 1 || !strings.Contains(again.Text, told.Property) {
		t.Errorf("replay says %+v", again)
	}
	if clean := a.got("run", arguments{"kind": "lock", "episodes": 50, "seed": 1}); clean.Status != 0 || clean.Stories != nil {
		t.Errorf("a correct lock: %+v", clean)
	}

	outside := filepath.Join(t.TempDir(), "secret.json")
	if err := errors.Join(os.WriteFile(outside, []byte("secret"), 0o600), os.Symlink(filepath.Dir(outside), filepath.Join(a.dir, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool string
		in   arguments
		want string
	}{
		{"list", arguments{"what": "faultz"}, "faultz"},
		{"help", arguments{"property": "deadlok"}, "deadlok"},
		{"help", arguments{"property": "link/secret.json"}, "not the name of a property"},
		{"run", arguments{}, `"kind"`},
		{"run", arguments{"kind": "lok"}, "lok"},
		{"run", arguments{"kind": "--help"}, "--help"},
		{"run", arguments{"kind": "lock", "sead": 1}, "sead"},
		{"explain", arguments{"file": "none.json"}, "there is no none.json: name it as seen from"},
		{"explain", arguments{"file": outside}, "is outside of"},
		{"replay", arguments{"file": "link/secret.json"}, "is outside of"},
		{"test", arguments{"dir": ".."}, "is outside of"},
		{"test", arguments{"packages": []string{"./a/../../b"}}, "name a folder below"},
		{"scan", arguments{"packages": []string{"-exec=/bin/sh"}}, "name a folder below"},
	} {
		if _, failed := a.ask(t.Context(), c.tool, c.in); !strings.Contains(failed, c.want) || strings.Contains(failed, "secret\n") {
			t.Errorf("%s %v: %s, want %s", c.tool, c.in, failed, c.want)
		}
	}

	a.module()
	test := a.got("test", arguments{"faults": "none", "seed": 1, "episodes": 300})
	if test.Status != 1 || strings.Contains(test.Text, "flag provided") || !strings.Contains(test.Text, "--- PASS: TestPlain") || len(test.Stories) == 0 || json.Unmarshal(test.Stories[0], &told) != nil || told.Cause.Text == "" || !strings.Contains(test.Text, "--- FAIL: TestLock") {
		t.Errorf("test says %+v", test)
	}
	written, err := filepath.Glob(filepath.Join(a.dir, "lock/testdata/zktorture/TestLock/*.json"))
	if err != nil || len(written) == 0 {
		t.Fatalf("the test has written %v, %v", written, err)
	}
	if again := a.got("explain", arguments{"file": written[0]}); !strings.Contains(string(again.Result), `"cause":`) {
		t.Errorf("explain says of a test's counterexample: %s", again.Result)
	}
	if again := a.got("replay", arguments{"file": written[0]}); again.Status != 1 || !strings.Contains(again.Text, "--- FAIL: TestLock") {
		t.Errorf("replay says of a test's counterexample: %+v", again)
	}
	if none := a.got("test", arguments{"dir": "lock", "run": "Nothing"}); none.Status != 0 {
		t.Errorf("no test: %+v", none)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan string)
	go func() {
		_, failed := a.ask(ctx, "run", arguments{"kind": "lock", "seconds": 3000})
		ended <- failed
	}()
	cancel()
	if failed := <-ended; !strings.Contains(failed, "cancel") {
		t.Errorf("a call that was cancelled: %s", failed)
	}
}

// module makes the root a module that has the lock of torture new.
func (a *agent) module() {
	a.Helper()
	repository, err := filepath.Abs("../../..")
	if err != nil {
		a.Fatal(err)
	}
	mod := testkit.File(a, filepath.Join(repository, "go.mod"))
	_, mod, _ = strings.Cut(mod, "\n")
	files := map[string]string{
		"go.mod": "module example.com/mine\n" + mod + "\nrequire github.com/zktorture/zktorture v0.0.0\nreplace github.com/zktorture/zktorture => " +
			strconv.Quote(repository) + "\n",
		"go.sum": testkit.File(a, filepath.Join(repository, "go.sum")),
	}
	files["plain/plain_test.go"] = "package plain\n\nimport \"testing\"\n\nfunc TestPlain(t *testing.T) {}\n"
	for _, name := range []string{"lock.go", "lock_test.go"} {
		files[filepath.Join("lock", name)] = testkit.File(a, filepath.Join(repository, "cmd/internal/scaffold/kinds", name+".txt"))
	}
	for name, text := range files {
		name = filepath.Join(a.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			a.Fatal(err)
		}
	}
}

// What is no message is answered, and the next one is, too. A text that is too long is cut.
func TestMessages(t *testing.T) {
	var said strings.Builder
	const good = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	in := messages(strings.NewReader("{\n\nnull\n[]\n"+`{"jsonrpc":"2.0","id":{},"method":"ping"}`+"\n"+good+"\n"), &said)
	passed, err := io.ReadAll(in)
	if err != nil || string(passed) != good+"\n" {
		t.Errorf("%q, %v", passed, err)
	}
	if said := said.String(); strings.Count(said, `"id":null,"error":{"code":-32700,`) != 1 || strings.Count(said, `"code":-32600,`) != 3 {
		t.Error(said)
	}
	if text := end(strings.Repeat("é", 10<<20)); len(text) > textMax+len("…") {
		t.Errorf("%d bytes are left", len(text))
	}
}
