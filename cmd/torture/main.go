// Command torture runs ZooKeeper recipes under injected faults, and judges what the clients saw. Its code is package
// command, which also makes such commands with kinds and recipes of your own.
package main

import (
	"github.com/zktorture/zktorture/cmd/command"
	buildversion "github.com/zktorture/zktorture/internal/version"
)

// version is set by release builds: -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	buildversion.Release = version
	command.Main()
}
