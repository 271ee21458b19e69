package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/zktorture/zktorture/cmd/internal/cli"
	"github.com/zktorture/zktorture/cmd/internal/cli/about"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story"
)

type listInput struct {
	What string `json:"what,omitempty" jsonschema:"kinds, faults, strategies, models, zoo, or module; default: kinds to models"`
	Kind string `json:"kind,omitempty" jsonschema:"list only this kind"`
	Dir  string `json:"dir,omitempty" jsonschema:"of module: the folder of the module or of packages of it; default: that of the server"`
}

// listed is what torture list --json prints, and what is in a module.
type listed struct {
	about.Listing
	Packages []tested `json:"packages,omitempty"`
}

func (s *server) list(ctx context.Context, _ *mcp.CallToolRequest, in listInput) (_ *mcp.CallToolResult, all listed, err error) {
	switch {
	case in.What == ofModule:
		all.Packages, err = s.packages(ctx, in.Dir)
		return nil, all, err
	case in.Kind != "":
		if _, err := cli.FindRecipe(in.Kind, "", "sim"); err != nil {
			return nil, all, err
		}
		in.What = "kinds"
	}
	sections := append(strings.Split(about.Sections(), ","), ofModule)
	if err := console.Known("section", in.What, sections); err != nil {
		return nil, all, err
	}
	var text bytes.Buffer
	c := &console.Context{Context: ctx, Streams: console.Streams{Stdout: &text}}
	if err := (&about.ListCmd{What: in.What, JSON: true}).Run(c); err != nil {
		return nil, all, err
	}
	err = json.Unmarshal(text.Bytes(), &all.Listing)
	all.Kinds = slices.DeleteFunc(all.Kinds, func(k about.ListedKind) bool { return in.Kind != "" && k.Name != in.Kind })
	return nil, all, err
}

type helpInput struct {
	Property string `json:"property,omitempty" jsonschema:"as violations name it; default: all properties"`
}

// advised is what is known of properties.
type advised struct {
	Advice []story.Advice `json:"advice"`
}

func (s *server) help(_ context.Context, _ *mcp.CallToolRequest, in helpInput) (*mcp.CallToolResult, advised, error) {
	all := story.AllAdvice()
	if in.Property == "" {
		return nil, advised{all}, nil
	}
	var known []string
	for _, a := range all {
		known = append(known, a.Properties...)
	}
	if err := console.Known("property", in.Property, known); err != nil {
		return nil, advised{}, err
	}
	of := slices.IndexFunc(all, func(a story.Advice) bool { return slices.Contains(a.Properties, in.Property) })
	return nil, advised{all[of : of+1]}, nil
}

type runInput struct {
	Kind     string `json:"kind" jsonschema:"the kind of recipe, such as lock or queue"`
	Recipe   string `json:"recipe,omitempty" jsonschema:"the implementation, such as ours, or published/WriteLock for a known bug; default: the first of the kind"`
	Faults   string `json:"faults,omitempty" jsonschema:"what may strike: names with commas between them, all, or none; all,-wrap leaves one out; default: all, in stages"`
	Strategy string `json:"strategy,omitempty" jsonschema:"how episodes are drawn; default: stages, or mix with faults"`
	Seed     uint64 `json:"seed,omitempty" jsonschema:"the same seed gives the same run; default: a new one, which is in the result"`
	Episodes uint32 `json:"episodes,omitempty" jsonschema:"how many; default: 1000, or as many as seconds allow"`
	Seconds  uint32 `json:"seconds,omitempty" jsonschema:"how long to run"`
	Clients  int    `json:"clients,omitempty" jsonschema:"the most clients, 1 to 64; default 3"`
	Ops      int    `json:"ops,omitempty" jsonschema:"the most operations of a user, 1 to 1000; default 4"`
}

// ran is what torture run --json prints, and the story of the likely root of what broke.
type ran struct {
	output.Summary
	Story *told `json:"story,omitempty"`
}

func (s *server) run(ctx context.Context, req *mcp.CallToolRequest, in runInput) (_ *mcp.CallToolResult, out ran, err error) {
	w, err := cli.FindRecipe(in.Kind, in.Recipe, "sim")
	if err != nil {
		return nil, out, err
	}
	cfg := sim.Config{
		Strategy: cmp.Or(in.Strategy, sim.UsualStrategy(in.Faults != "")), Episodes: int(in.Episodes), Duration: time.Duration(in.Seconds) * time.Second,
		Seed: cmp.Or(in.Seed, 1+rand.Uint64()>>32), NoFaultsAtAll: true, Clients: in.Clients, Ops: in.Ops,
		ShrinkTime: cli.ShrinkTime, Coverage: in.Strategy != sim.Exhaustive,
	}
	if cfg.Faults, err = world.ParseFaults(cmp.Or(in.Faults, "all")); err != nil {
		return nil, out, err
	}
	tell, bar := progress(ctx, req), output.NewBar(&console.Context{Context: ctx}, true, cfg.Episodes, cfg.Duration)
	cfg.Progress = func(p sim.Progress) {
		text, _, _ := bar.Text(p)
		tell(text)
	}
	result, err := sim.Run(ctx, w, cfg)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, out, err
	}
	if result.Coverage != nil {
		result.Coverage.Never = nil
	}
	saved := (&output.Folder{Dir: output.CounterexamplesDir}).Counterexamples(cfg, result)
	out.Summary = output.Summarize(result, "sim", saved.Files)
	if saved.Err == nil && len(saved.Examples) > 0 {
		var root *story.Story
		if root, err = story.Brief(w, saved.Examples[0]); err == nil {
			out.Story = tellStory(root, saved.Files[0], false)
		}
	}
	return nil, out, cmp.Or(saved.Err, err)
}
