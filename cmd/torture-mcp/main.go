// Command torture-mcp serves zktorture to coding agents by the Model Context Protocol: they run recipes and the tests of
// a module, and read why something broke. It talks over standard input and output, opens no network, and keeps to one
// folder.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	_ "github.com/zktorture/zktorture/cmd/internal/zoocmd" // recipes with known bugs, and their list
	"github.com/zktorture/zktorture/internal/resource/memory"
	buildversion "github.com/zktorture/zktorture/internal/version"
	_ "github.com/zktorture/zktorture/sim/prove" // strategy exhaustive
)

// version is set by release builds: -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	buildversion.Release = version
	root := flag.String("root", ".", "the `folder` to keep to: modules, and files of counterexamples")
	said := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *said {
		fmt.Println(buildversion.Text("torture-mcp"))
		return
	}
	if err := serve(*root); err != nil {
		fmt.Fprintf(os.Stderr, "torture-mcp: %v\n", err)
		os.Exit(2)
	}
}

// serve serves a client until it has gone, or a signal comes.
func serve(root string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see torture-mcp --help", flag.Arg(0))
	}
	if err := os.Chdir(root); err != nil {
		return fmt.Errorf("--root: %w", err)
	}
	memory.RelaxGC()
	s, err := newServer()
	if err != nil {
		return err
	}
	err = s.Run(ctx, &mcp.StdioTransport{})
	if ctx.Err() != nil {
		return nil
	}
	return err
}
