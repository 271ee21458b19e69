// Command torture-campaign runs a plan on many machines, and reports what one machine would have found. Its code is
// package command, which also makes such commands with kinds and recipes of your own.
package main

import (
	"github.com/zktorture/zktorture/cmd/internal/campaign/command"
	buildversion "github.com/zktorture/zktorture/internal/version"
)

// version is set by release builds: -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	buildversion.Release = version
	command.Main()
}
