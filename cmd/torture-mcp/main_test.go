package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
)

// agent is a client that talks to a server.
type agent struct {
	t *testing.T
	*mcp.ClientSession
	told  chan string // messages of progress
	ended chan error  // a call has ended at a server in this process
}

// connect starts a server of a folder in this process.
func connect(t *testing.T, dir string) *agent {
	t.Helper()
	t.Chdir(dir)
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{t: t, ended: make(chan error, 100)}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if method == "tools/call" {
				a.ended <- errors.Join(err, ctx.Err())
			}
			return result, err
		}
	})
	server, client := mcp.NewInMemoryTransports()
	if _, err := s.Connect(t.Context(), server, nil); err != nil {
		t.Fatal(err)
	}
	return a.join(client)
}

// join connects the client.
func (a *agent) join(to mcp.Transport) *agent {
	a.t.Helper()
	a.told = make(chan string, 1000)
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) { a.told <- n.Params.Message },
	})
	session, err := client.Connect(a.t.Context(), to, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { session.Close() })
	a.ClientSession = session
	return a
}

type arguments = map[string]any

// ask calls a tool and decodes what it returns, which it returns as it is, too.
func (a *agent) ask(tool string, in arguments, out any) []byte {
	a.t.Helper()
	result, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		a.t.Fatal(err)
	}
	if result.IsError {
		a.t.Fatalf("%s %v: %s", tool, in, contents(result))
	}
	text, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return text
}

// refused calls a tool and returns the error that it answers with.
func (a *agent) refused(tool string, in arguments) string {
	a.t.Helper()
	result, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		a.t.Fatal(err)
	}
	if !result.IsError {
		a.t.Fatalf("%s %v is no error: %s", tool, in, contents(result))
	}
	return contents(result)
}

func contents(r *mcp.CallToolResult) (text string) {
	for _, c := range r.Content {
		text += c.(*mcp.TextContent).Text
	}
	return text
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// broken is a lock that breaks at once, and always in the same way.
var broken = arguments{"kind": "lock", "recipe": "published/WriteLock", "faults": "none", "seed": 1, "episodes": 200}

// An agent finds a recipe, runs it, and reads why it broke.
func TestSession(t *testing.T) {
	a := connect(t, t.TempDir())

	var all listed
	a.ask("list", nil, &all)
	if len(all.Kinds) < 5 || len(all.Faults) < 5 || len(all.Strategies) == 0 || all.Zoo != nil {
		t.Errorf("list says %+v", all)
	}
	var one listed
	a.ask("list", arguments{"kind": "lock"}, &one)
	if len(one.Kinds) != 1 || one.Kinds[0].Name != "lock" || one.Faults != nil {
		t.Errorf("list of locks says %+v", one)
	}
	a.ask("list", arguments{"what": "zoo"}, &all)
	if len(all.Zoo) < 50 {
		t.Errorf("the zoo has %d", len(all.Zoo))
	}

	var run ran
	text := a.ask("run", broken, &run)
	if run.Verdict != sim.VerdictViolation || run.Story == nil || run.Story.File == "" || run.Seed != 1 {
		t.Fatalf("run says %s", text)
	}
	var twice ran
	if a.ask("run", broken, &twice); twice.Hash != run.Hash || twice.Story.File != run.Story.File {
		t.Errorf("the same seed gave hash %s and then %s", run.Hash, twice.Hash)
	}

	var brief, full told
	a.ask("explain", arguments{"file": run.Story.File}, &brief)
	if brief.Text != run.Story.Text || !strings.Contains(brief.Text, "why: "+brief.Cause.Text[:20]) || brief.Help.Text == "" ||
		!strings.Contains(strings.Join(brief.Source.Lines, "\n"), "ExistsW(path)") {
		t.Errorf("explain says %+v", brief)
	}
	if a.ask("explain", arguments{"file": run.Story.File, "full": true}, &full); len(full.Text) <= len(brief.Text) {
		t.Errorf("in full it is:\n%s", full.Text)
	}

	var again replayed
	a.ask("replay", arguments{"file": run.Story.File}, &again)
	if !again.Same || again.Property != run.Story.Property || again.Hash == "" {
		t.Errorf("replay says %+v", again)
	}
	edited := strings.NewReplacer(`"property": "`+again.Property, `"property": "no-such-property`)
	rewrite(t, "edited.json", testkit.File(t, run.Story.File), edited)
	a.ask("replay", arguments{"file": "edited.json"}, &again)
	if again.Same || !strings.Contains(again.Note, "was the file altered") {
		t.Errorf("replay of another file says %+v", again)
	}

	var what advised
	a.ask("help", arguments{"property": run.Story.Property}, &what)
	if len(what.Advice) != 1 || !slices.ContainsFunc(what.Advice[0].Helps, func(r story.Remedy) bool { return r.Help == *brief.Help }) {
		t.Errorf("help says %+v", what)
	}
	if a.ask("help", nil, &what); len(what.Advice) < 20 {
		t.Errorf("help knows only %d", len(what.Advice))
	}
}

// What cannot be done is the error of a tool, which says what to do.
func TestErrors(t *testing.T) {
	outside := t.TempDir()
	a := connect(t, t.TempDir())
	rewrite(t, "plain.json", `{"a": 1}`, nil)
	rewrite(t, filepath.Join(outside, "secret.json"), "secret", nil)
	if err := os.Symlink(outside, "link"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool string
		in   arguments
		want string
	}{
		{"list", arguments{"what": "faultz"}, `unknown section "faultz": did you mean faults?`},
		{"list", arguments{"kind": "lok"}, `unknown kind "lok": did you mean lock?`},
		{"list", arguments{"what": "module"}, "go list failed"},
		{"list", arguments{"what": "module", "dir": ".."}, "is outside of"},
		{"help", arguments{"property": "deadlok"}, `did you mean deadlock?`},
		{"run", arguments{}, `"kind"`},
		{"run", arguments{"kind": "lok"}, `unknown kind "lok": did you mean lock? If not, see the tool list kinds`},
		{"run", arguments{"kind": "lock", "recipe": "our"}, `did you mean ours`},
		{"run", arguments{"kind": "lock", "recipe": "exec:sh"}, "needs servers"},
		{"run", arguments{"kind": "lock", "faults": "los"}, `unknown fault "los": the faults are loss`},
		{"run", arguments{"kind": "lock", "strategy": "wild"}, "wild"},
		{"run", arguments{"kind": "lock", "clients": 99}, "99"},
		{"run", arguments{"kind": "lock", "seconds": -1}, "minimum"},
		{"run", arguments{"kind": "lock", "seed": "one"}, "seed"},
		{"run", arguments{"kind": "lock", "sead": 1}, "sead"},
		{"explain", arguments{"file": "none.json"}, "there is no none.json: name it as seen from"},
		{"explain", arguments{"file": "plain.json"}, "plain.json: "},
		{"explain", arguments{"file": filepath.Join(outside, "secret.json")}, "is outside of"},
		{"explain", arguments{"file": "link/secret.json"}, "is outside of"},
		{"explain", arguments{"file": "."}, "directory"},
		{"replay", arguments{"file": "../" + filepath.Base(outside) + "/secret.json"}, "is outside of"},
		{"test", arguments{"dir": outside}, "is outside of"},
		{"test", arguments{"packages": []string{"../..."}}, "name a folder below dir"},
		{"test", arguments{"packages": []string{"./a/../../b"}}, "name a folder below dir"},
		{"test", arguments{"packages": []string{"-exec=/bin/sh"}}, "name a folder below dir"},
		{"test", arguments{"run": "("}, "missing closing )"},
	} {
		if got := a.refused(c.tool, c.in); !strings.Contains(got, c.want) || strings.Contains(got, "secret\n") {
			t.Errorf("%s %v: %s, want %s", c.tool, c.in, got, c.want)
		}
	}
}

// A run tells how far it is, and ends when it is cancelled.
func TestCancelledRun(t *testing.T) {
	a := connect(t, t.TempDir())
	a.cancel("run", arguments{"kind": "lock", "recipe": "ours", "seconds": 3000}, "episodes", func() {})
	if files, _ := filepath.Glob("*"); len(files) > 0 {
		t.Errorf("it has left %v", files)
	}
}

// cancel calls a tool, cancels the call when it has told something and then is called, and waits for its end at the server.
func (a *agent) cancel(tool string, in arguments, something string, then func()) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(a.t.Context())
	params := &mcp.CallToolParams{Name: tool, Arguments: in}
	params.SetProgressToken("it")
	called := make(chan error)
	go func() {
		_, err := a.CallTool(ctx, params)
		called <- err
	}()
	for told := ""; !strings.Contains(told, something); {
		select {
		case told = <-a.told:
		case err := <-called:
			a.t.Fatalf("it has ended: %v", err)
		}
	}
	then()
	cancel()
	if err := <-called; !errors.Is(err, context.Canceled) {
		a.t.Errorf("the call ends with %v", err)
	}
	if err := <-a.ended; !errors.Is(err, context.Canceled) {
		a.t.Errorf("the run ends with %v", err)
	}
}

// The program that users install serves over standard input and output, keeps to --root, and ends with its client.
func TestProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "torture-mcp")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-X main.version=v9.8.7", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), program, "--version").Output(); err != nil ||
		!strings.HasPrefix(string(out), "torture-mcp v9.8.7\n") {
		t.Errorf("--version: %v: %s", err, out)
	}
	for want, arg := range map[string]string{"no such file": "--root=none", "unexpected argument": "none"} {
		if out, err := exec.CommandContext(t.Context(), program, arg).CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v: %s", arg, err, out)
		}
	}
	dir := t.TempDir()
	command := exec.Command(program, "--root", dir)
	command.Stderr = os.Stderr
	a := (&agent{t: t}).join(&mcp.CommandTransport{Command: command})
	if got := a.InitializeResult().ServerInfo; got.Name != "torture-mcp" || got.Version != "v9.8.7" {
		t.Errorf("the server says that it is %+v", got)
	}
	var run ran
	a.ask("run", broken, &run)
	if _, err := os.Stat(filepath.Join(dir, run.Story.File)); err != nil || run.Story.Cause == nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if state := command.ProcessState; state == nil || !state.Success() {
		t.Errorf("the server has ended with %v", state)
	}
}

// rewrite writes a file, with some of its text replaced.
func rewrite(t *testing.T, name, text string, edit *strings.Replacer) {
	t.Helper()
	if edit != nil {
		before := text
		if text = edit.Replace(text); text == before {
			t.Fatalf("%s: nothing was edited", name)
		}
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
