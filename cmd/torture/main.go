// Command torture runs ZooKeeper recipes under injected faults, and judges what the clients saw. Its code is
// internal/cli; zktorture.Main makes commands with kinds and recipes of your own.
package main

import (
	"github.com/zktorture/zktorture"
	_ "github.com/zktorture/zktorture/cmd/torture/picture"  // torture check --html
	_ "github.com/zktorture/zktorture/cmd/torture/scaffold" // torture new
	_ "github.com/zktorture/zktorture/cmd/torture/scan"     // torture scan
	_ "github.com/zktorture/zktorture/cmd/torture/serving"  // torture serve and proxy
	buildversion "github.com/zktorture/zktorture/internal/version"
	_ "github.com/zktorture/zktorture/zoo/command" // torture zoo and list zoo
)

// version is set by release builds: -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	buildversion.Release = version
	zktorture.Main()
}
