package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/zktorture/zktorture/cmd/internal/cli"
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
)

// told is what is read of a story. What a story of torture explain --json has, too, is the same there.
type told struct {
	Title    string          `json:"title" jsonschema:"what broke which property"`
	Property string          `json:"property" jsonschema:"as help names it"`
	Message  string          `json:"message" jsonschema:"what happened"`
	Cause    *story.Cause    `json:"cause" jsonschema:"why it broke, as far as the events show it"`
	Source   *story.Source   `json:"source,omitempty" jsonschema:"the code around the request that decides"`
	Help     *story.Help     `json:"help" jsonschema:"what to do about it"`
	Commands []story.Command `json:"commands,omitempty" jsonschema:"the same in a shell"`
	File     string          `json:"file,omitempty" jsonschema:"the counterexample, for explain and replay"`
	Text     string          `json:"text" jsonschema:"the story"`
}

// tellStory is a story of the counterexample in a file; full is with sessions, znodes, waits and the pivotal step.
func tellStory(s *story.Story, file string, full bool) *told {
	t := &told{Title: s.Title, Property: s.Property, Message: s.Message, Cause: s.Cause, Help: s.Help, Commands: s.Commands,
		File: filepath.ToSlash(file), Text: s.Text(story.TextOptions{Brief: !full})}
	if s.Cause != nil && s.Cause.Event >= 0 {
		at := s.Events[s.Cause.Event].Code
		if i := slices.IndexFunc(s.Sources, func(c story.Source) bool { return c.At == at }); i >= 0 {
			t.Source = &s.Sources[i]
		}
	}
	return t
}

type explainInput struct {
	File string `json:"file" jsonschema:"a counterexample: what run and test name as file, or what list names of a module"`
	Full bool   `json:"full,omitempty" jsonschema:"tell also of sessions, znodes, waits and the pivotal step"`
}

func (s *server) explain(ctx context.Context, req *mcp.CallToolRequest, in explainInput) (*mcp.CallToolResult, told, error) {
	x, err := s.open(in.File)
	if err != nil {
		return nil, told{}, err
	}
	if x.test == "" {
		one, err := story.Tell(ctx, x.workload, x.Counterexample)
		if err != nil {
			return nil, told{}, fmt.Errorf("%s: %w", in.File, err)
		}
		return nil, *tellStory(one, x.file, in.Full), nil
	}
	seen, err := s.play(ctx, req, x)
	switch {
	case err != nil:
		return nil, told{}, err
	case len(seen.stories) == 0:
		return nil, told{}, fmt.Errorf("%s: its test tells no story now:\n%s", in.File, seen.output)
	}
	return nil, *tellStory(seen.stories[0], x.file, in.Full), nil
}

type replayInput struct {
	File string `json:"file" jsonschema:"a counterexample: what run and test name as file, or what list names of a module"`
}

// replayed says what came of a counterexample that was run again.
type replayed struct {
	Same     bool   `json:"same" jsonschema:"the same property broke in the same way"`
	Property string `json:"property,omitempty" jsonschema:"what broke; absent if nothing did"`
	Message  string `json:"message,omitempty" jsonschema:"what happened"`
	Hash     string `json:"hash,omitempty" jsonschema:"of every step of the run, if the recipe is one of list; equal runs have equal hashes"`
	Note     string `json:"note,omitempty" jsonschema:"why it is not the same"`
}

func (s *server) replay(ctx context.Context, req *mcp.CallToolRequest, in replayInput) (_ *mcp.CallToolResult, out replayed, err error) {
	x, err := s.open(in.File)
	if err != nil {
		return nil, out, err
	}
	if x.test == "" {
		again, err := sim.Replay(x.workload, x.Counterexample)
		if err != nil {
			return nil, out, fmt.Errorf("%s: %w", in.File, err)
		}
		out.Hash = digest.Hex(again.Hash)
		if v := again.Violation; v != nil {
			out.Property, out.Message = v.Property, v.Message
		}
		if err := story.Same(x.Counterexample, again); err != nil {
			out.Note = err.Error()
		}
		out.Same = out.Note == ""
		return nil, out, nil
	}
	seen, err := s.play(ctx, req, x)
	if err != nil {
		return nil, out, err
	}
	if out.Note = seen.output; len(seen.stories) > 0 {
		out.Property, out.Message = seen.stories[0].Property, seen.stories[0].Message
	}
	if out.Same = out.Property == x.Property && out.Message == x.Message; out.Same {
		out.Note = ""
	}
	return nil, out, nil
}

// example is a counterexample that is there.
type example struct {
	*sim.Counterexample
	file     string             // as seen from the root
	workload *workload.Workload // of a recipe of list …
	dir      string             // … or the folder of the package
	test     string             // and the name of the folder of the test that has it
}

// ofTest matches the counterexamples that tests write: see sim.Check.
var ofTest = regexp.MustCompile(`^(?:(.*)/)?testdata/zktorture/([^/]+)/[^/]+\.json$`)

// open reads a counterexample and says who can run it.
func (s *server) open(name string) (x example, err error) {
	if x.file, err = s.inside(name); err != nil {
		return x, err
	}
	file, err := os.Open(x.file)
	if err != nil {
		return x, err
	}
	defer file.Close()
	if x.Counterexample, err = sim.ReadCounterexample(file); err != nil {
		return x, fmt.Errorf("%s: %w", name, err)
	}
	if m := ofTest.FindStringSubmatch(filepath.ToSlash(x.file)); m != nil {
		x.dir, x.test = m[1], m[2]
		return x, nil
	}
	if x.Exact {
		return x, fmt.Errorf("%s was found in exact mode, which needs a build of its own: run torture explain or torture "+
			"replay with it in a shell", name)
	}
	if x.workload, err = cli.FindRecipe(x.Workload, x.Recipe, "sim"); err != nil {
		return x, fmt.Errorf("%s: %w; a counterexample of a test can be run where the test has written it, in "+
			"testdata/zktorture/TEST of its package", name, err)
	}
	if x.Wire {
		x.workload = x.workload.OverWire()
	}
	return x, nil
}
