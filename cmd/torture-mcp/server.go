package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	buildversion "github.com/zktorture/zktorture/internal/version"
)

// server has the tools. What it is asked for and cannot do is the error of a tool, which the agent reads.
type server struct {
	root string // absolute, without symbolic links; the working directory
}

const instructions = `zktorture runs code over Apache ZooKeeper (locks, queues, elections) on a simulated ensemble, injects faults, ` +
	`and tells the shortest run that breaks a promise as a story. Test the user's own module with test; run the recipes that ` +
	`list names with run. Read text, cause, source and help of the story, fix the code, and run the same seed again. ` +
	`A pass says that nothing broke in these runs.`

// newServer makes a server of the working directory.
func newServer() (*mcp.Server, error) {
	root, err := os.Getwd()
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, err
	}
	s := &server{root}
	build, _, _ := strings.Cut(buildversion.Text(""), "\n")
	to := mcp.NewServer(&mcp.Implementation{Name: "torture-mcp", Title: "zktorture", Version: strings.TrimSpace(build)},
		&mcp.ServerOptions{Instructions: instructions})
	reads, writes := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)},
		&mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool)}
	mcp.AddTool(to, &mcp.Tool{Name: "list", Annotations: reads, Description: "List kinds with their recipes and " +
		"properties, faults, strategies, models, the zoo of known bugs, or the tests and counterexamples of a module."}, s.list)
	mcp.AddTool(to, &mcp.Tool{Name: "help", Annotations: reads, Description: "Say what it means that a property breaks, " +
		"and what helps."}, s.help)
	mcp.AddTool(to, &mcp.Tool{Name: "run", Annotations: writes, Description: "Run a recipe that list names through " +
		"simulated episodes under faults. What breaks is written to counterexamples/, and the likely root is told as a story."}, s.run)
	mcp.AddTool(to, &mcp.Tool{Name: "test", Annotations: writes, Description: "Run the tests of a module that call " +
		"sim.Check, with go test, and tell the story of each that breaks a property."}, s.test)
	mcp.AddTool(to, &mcp.Tool{Name: "explain", Annotations: writes, Description: "Tell the story of a counterexample: " +
		"what broke, why, the line of code that decides, and what helps."}, s.explain)
	mcp.AddTool(to, &mcp.Tool{Name: "replay", Annotations: writes, Description: "Run a counterexample again, and say " +
		"whether it breaks the same property by the same steps."}, s.replay)
	return to, nil
}

// inside returns the name below the root of a file or folder that is there.
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
	if inner, err := filepath.Rel(s.root, real); err == nil && filepath.IsLocal(inner) {
		return inner, nil
	}
	return "", fmt.Errorf("%s is outside of %s, which this server keeps to: name something in there, or have torture-mcp "+
		"started with another --root", name, s.root)
}

// asking is an agent to whom errors suggest the tools that list names.
var asking = &console.Context{Streams: console.Streams{Self: "the tool"}}

// progressEvery is how often a client hears of a run at most.
const progressEvery = time.Second

// progress returns what tells the client how far a call is, if it asked for that: how many seconds it has taken, and a
// message.
func progress(ctx context.Context, req *mcp.CallToolRequest) func(message string) {
	token, began := req.Params.GetProgressToken(), time.Now()
	var mu sync.Mutex
	var last time.Time
	return func(message string) {
		mu.Lock()
		defer mu.Unlock()
		if token == nil || time.Since(last) < progressEvery {
			return
		}
		last = time.Now()
		req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // one that is lost is no loss
			ProgressToken: token, Message: message, Progress: last.Sub(began).Seconds(),
		})
	}
}
