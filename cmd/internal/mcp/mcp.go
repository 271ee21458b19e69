// Package mcp serves the command torture to coding agents by the Model Context Protocol: each tool is a call of the
// command, whose JSON it returns. It talks over standard input and output, opens no network, and keeps to one folder.
package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/internal/proc"
	"github.com/zktorture/zktorture/internal/version"
)

// Command is torture mcp.
type Command struct {
	Root string `help:"The folder to keep to: modules, and files of counterexamples. Default: this one." default:"." type:"existingdir" placeholder:"DIR"`
}

// Run serves an agent until it has gone, or a signal comes.
func (m *Command) Run(c *console.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s, err := newServer(self, m.Root)
	if err != nil {
		return err
	}
	out := &answers{to: c.Bare.Stdout}
	if err := s.Run(c, &mcp.IOTransport{Reader: messages(os.Stdin, out), Writer: out}); c.Err() == nil {
		return err
	}
	return nil
}

// answers are written one at a time.
type answers struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements [io.Writer].
func (a *answers) Write(text []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.to.Write(text)
}

// Close implements [io.Closer].
func (*answers) Close() error { return nil }

// messages passes on the messages of JSON-RPC 2.0 that are read, a line each. What is none is answered with an error, as
// its section 5.1 says; the library ends at one.
func messages(from io.Reader, answers io.Writer) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, messageMax)
		for lines.Scan() {
			line := bytes.TrimSpace(lines.Bytes())
			code, wrong := 0, ""
			if !json.Valid(line) {
				code, wrong = -32700, "Parse error: this is not JSON"
			} else if _, err := jsonrpc.DecodeMessage(line); err != nil {
				code, wrong = -32600, "Invalid Request: "+err.Error()
			}
			var err error
			switch {
			case len(line) == 0:
			case code != 0:
				_, err = fmt.Fprintf(answers, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`+"\n", code, wrong)
			default:
				_, err = in.Write(append(line, '\n'))
			}
			if err != nil {
				return
			}
		}
		in.CloseWithError(cmp.Or(lines.Err(), io.EOF))
	}()
	return out
}

// messageMax is how long a message may be, in bytes.
const messageMax = 16 << 20

// server has the tools. What it is asked for and cannot do is the error of a tool, which the agent reads.
type server struct {
	self string // the command
	root string // absolute, without symbolic links
}

const instructions = `zktorture runs code over Apache ZooKeeper (locks, queues, elections) on a simulated ensemble, injects faults, ` +
	`and tells the shortest run that breaks a promise as a story. Find the user's own code with scan, and test it with test; run ` +
	`the recipes that list names with run. Read cause, sources and help of the story, fix the code, and run the same seed again. ` +
	`A pass says that nothing broke in these runs. Status 0: nothing broke, 1: something broke, 2: it is not known.`

// newServer makes a server of a folder.
func newServer(self, root string) (*mcp.Server, error) {
	root, err := filepath.Abs(root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, err
	}
	s := &server{self, root}
	build, _, _ := strings.Cut(version.Text(""), "\n")
	to := mcp.NewServer(&mcp.Implementation{Name: "torture", Title: "zktorture", Version: strings.TrimSpace(build)},
		&mcp.ServerOptions{Instructions: instructions})
	reads, writes := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)},
		&mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool)}
	add(s, to, "list", reads, "List kinds with their recipes and properties, faults, strategies, models, or the zoo of known bugs.", call.list)
	add(s, to, "help", reads, "Say what it means that a property breaks, and what helps.", call.help)
	add(s, to, "scan", writes, "Find code over ZooKeeper in the module of a folder, write a test for each part that fits a kind, and run it.", call.scan)
	add(s, to, "run", writes, "Run a recipe that list names through simulated episodes under faults. What breaks is written to "+
		"counterexamples/, and the likely cause is told as a story.", call.run)
	add(s, to, "test", writes, "Run the tests of a module that call sim.Check, with go test, and tell the story of each that breaks a property.", call.test)
	add(s, to, "explain", reads, "Tell the story of a counterexample that run has written: what broke, why, the code that decides, and what helps.", call.explain)
	add(s, to, "replay", reads, "Run a counterexample that run has written again, step by step.", call.replay)
	return to, nil
}

// call is a call of a tool.
type call struct {
	*server
	context.Context
}

// add adds a tool.
func add[In any](s *server, to *mcp.Server, name string, how *mcp.ToolAnnotations, what string, do func(call, In) (output, error)) {
	mcp.AddTool(to, &mcp.Tool{Name: name, Annotations: how, Description: what},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			out, err := do(call{s, ctx}, in)
			if err = cmp.Or(ctx.Err(), err); err != nil {
				return nil, nil, err
			}
			text, err := json.Marshal(out)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil, err
		})
}

// output is what a tool returns, once: as text, which every agent reads.
type output struct {
	Status  int    `json:"status"`            // of the command: 0 nothing broke, 1 something broke, 2 it is not known
	Result  any    `json:"result,omitempty"`  // what the command prints as JSON
	Text    string `json:"text,omitempty"`    // what the command prints as text, the end of it
	Stories []any  `json:"stories,omitempty"` // of what broke, the likely cause first
}

type listInput struct {
	What string `json:"what,omitempty" jsonschema:"kinds, faults, strategies, models, properties or zoo; default: all but the zoo"`
}

func (c call) list(in listInput) (output, error) {
	if in.What == "" {
		return c.json("list")
	}
	return c.json("list", "--", in.What)
}

type helpInput struct {
	Property string `json:"property" jsonschema:"as violations name it"`
}

func (c call) help(in helpInput) (output, error) {
	if strings.ContainsAny(in.Property, "./\\") {
		return output{}, fmt.Errorf("%q is not the name of a property", in.Property)
	}
	return c.text(c.command(c.self, "explain", "--", in.Property))
}

type scanInput struct {
	Packages []string `json:"packages,omitempty" jsonschema:"as seen from the root, such as ./lock or ./...; default ./..."`
	Episodes uint64   `json:"episodes,omitempty" jsonschema:"how many each test runs"`
}

func (c call) scan(in scanInput) (output, error) {
	packages, err := below(in.Packages)
	if err != nil {
		return output{}, err
	}
	return c.json("scan", append(flags("--episodes", in.Episodes), packages...)...)
}

type runInput struct {
	Kind     string `json:"kind" jsonschema:"the kind of recipe, such as lock or queue"`
	Recipe   string `json:"recipe,omitempty" jsonschema:"the implementation, such as ours, or published/WriteLock for a known bug; default: the first of the kind"`
	Faults   string `json:"faults,omitempty" jsonschema:"what may strike: names with commas between them, all, or none; all,-wrap leaves one out; default: all, in stages"`
	Strategy string `json:"strategy,omitempty" jsonschema:"how episodes are drawn; default: stages, or mix with faults"`
	Seed     uint64 `json:"seed,omitempty" jsonschema:"the same seed gives the same run; default: a new one, which is in the result"`
	Episodes uint64 `json:"episodes,omitempty" jsonschema:"how many; default: 1000, or as many as seconds allow"`
	Seconds  uint64 `json:"seconds,omitempty" jsonschema:"how long to run"`
	Clients  uint64 `json:"clients,omitempty" jsonschema:"the most clients, 1 to 64; default 3"`
	Ops      uint64 `json:"ops,omitempty" jsonschema:"the most operations of a user, 1 to 1000; default 4"`
}

func (c call) run(in runInput) (out output, err error) {
	args := flags("--recipe", in.Recipe, "--faults", in.Faults, "--strategy", in.Strategy, "--seed", in.Seed, "--episodes", in.Episodes,
		"--clients", in.Clients, "--ops", in.Ops, "--duration", time.Duration(in.Seconds)*time.Second)
	if out, err = c.json("run", append(args, "--", in.Kind)...); err != nil || out.Status != 1 {
		return out, err
	}
	var found struct{ Violations []struct{ File string } }
	if err := json.Unmarshal(out.Result.(json.RawMessage), &found); err != nil || len(found.Violations) == 0 {
		return out, err
	}
	told, err := c.json("explain", "--", found.Violations[0].File)
	out.Stories = append(out.Stories, told.Result)
	return out, err
}

type testInput struct {
	Dir      string   `json:"dir,omitempty" jsonschema:"the folder of the module or package; default: that of the server"`
	Packages []string `json:"packages,omitempty" jsonschema:"as seen from dir, such as ./lock or ./...; default ./..."`
	Run      string   `json:"run,omitempty" jsonschema:"a regular expression of tests, as for go test -run; default: all"`
	Seed     uint64   `json:"seed,omitempty" jsonschema:"draw these episodes; default: others each time"`
	Episodes uint64   `json:"episodes,omitempty" jsonschema:"how many a test runs; default: what the test says, or 2000"`
	Faults   string   `json:"faults,omitempty" jsonschema:"what may strike; default: what the test says"`
	Exact    bool     `json:"exact,omitempty" jsonschema:"draw what the Go runtime decides, too: for code whose goroutines race"`
}

func (c call) test(in testInput) (out output, err error) {
	dir, err := c.inside(cmp.Or(in.Dir, "."))
	if err != nil {
		return out, err
	}
	packages, err := below(in.Packages)
	if err != nil {
		return out, err
	}
	stories, err := os.MkdirTemp("", "torture-mcp-")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(stories)
	args := slices.Concat([]string{"test", "-v", "-count=1"}, packages, flags("-run", in.Run))
	program := "go"
	if in.Exact {
		program = c.self
	}
	cmd := c.command(program, args...)
	cmd.Dir, cmd.Env = filepath.Join(c.root, dir), slices.Concat(cmd.Env, []string{"GOPROXY=off", "ZKTORTURE_STORIES=" + stories},
		flags("ZKTORTURE_SEED", in.Seed, "ZKTORTURE_EPISODES", in.Episodes, "ZKTORTURE_FAULTS", in.Faults))
	if out, err = c.text(cmd); err != nil {
		return out, err
	}
	names, _ := filepath.Glob(filepath.Join(stories, "*.json")) // the pattern is right
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return out, err
		}
		out.Stories = append(out.Stories, json.RawMessage(text))
	}
	if out.Status == 1 && len(names) == 0 { // not built, or failed otherwise
		out.Status = 2
	}
	return out, nil
}

type fileInput struct {
	File string `json:"file" jsonschema:"a counterexample, as run names it"`
}

func (c call) explain(in fileInput) (output, error) {
	file, err := c.inside(in.File)
	if err != nil {
		return output{}, err
	}
	return c.json("explain", "--", file)
}

func (c call) replay(in fileInput) (output, error) {
	file, err := c.inside(in.File)
	if err != nil {
		return output{}, err
	}
	return c.text(c.command(c.self, "replay", "--", file))
}

// json calls the command with --json.
func (c call) json(command string, args ...string) (output, error) {
	out, err := c.text(c.command(c.self, append([]string{command, "--json"}, args...)...))
	if err == nil && !json.Valid([]byte(out.Text)) {
		err = fmt.Errorf("torture %s has printed no JSON: %.200s", command, out.Text)
	}
	out.Result, out.Text = json.RawMessage(out.Text), ""
	return out, err
}

// textMax is how much text an agent is shown, in bytes.
const textMax = 20_000

// text runs a command. The error is that of one that could not be run as it was asked for.
func (c call) text(cmd *exec.Cmd) (out output, err error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if cmd.Args[1] == "test" {
		cmd.Stderr = &stdout // as people see it
	}
	err = cmd.Run()
	if c.Err() != nil && cmd.Process != nil {
		_ = proc.SignalGroup(cmd.Process.Pid, syscall.SIGKILL) // what the interrupt has left
	}
	failed := new(exec.ExitError)
	if out.Status = cmd.ProcessState.ExitCode(); err != nil && !errors.As(err, &failed) {
		return out, err
	}
	if out.Status > 1 && stdout.Len() == 0 {
		return out, errors.New(end(strings.TrimSpace(stderr.String())))
	}
	if out.Text = stdout.String(); cmd.Args[1] == "test" {
		out.Text = end(out.Text)
	}
	return out, nil
}

// end is the end of a text that is too long for an agent.
func end(text string) string {
	if len(text) <= textMax {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-textMax:], "")
}

// command is a command in the root, which ends with all that it has started when the call does.
func (c call) command(program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c, program, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = c.root, os.Environ(), proc.OwnGroup(), 5*time.Second
	cmd.Cancel = func() error {
		if proc.SignalGroup(cmd.Process.Pid, syscall.SIGINT) != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	return cmd
}

// inside returns the name of a file or folder that is below the root.
func (s *server) inside(name string) (string, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.root, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no %s: name it as seen from %s", name, s.root)
	} else if err != nil {
		return "", err
	}
	inner, err := filepath.Rel(s.root, real)
	if err != nil || !filepath.IsLocal(inner) {
		return "", fmt.Errorf("%s is outside of %s, which this server keeps to: name something in there, or have torture mcp "+
			"started with another --root", name, s.root)
	}
	return inner, nil
}

// below are packages that lie below a folder.
func below(packages []string) ([]string, error) {
	for _, name := range packages {
		if name != "." && !strings.HasPrefix(name, "./") || !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fmt.Errorf("package %q: name a folder below, such as ./... or ./lock", name)
		}
	}
	if len(packages) == 0 {
		return []string{"./..."}, nil
	}
	return packages, nil
}

// flags are those of names and values that are not zero.
func flags(pairs ...any) (set []string) {
	for pair := range slices.Chunk(pairs, 2) {
		if !reflect.ValueOf(pair[1]).IsZero() {
			set = append(set, fmt.Sprintf("%v=%v", pair...))
		}
	}
	return set
}
