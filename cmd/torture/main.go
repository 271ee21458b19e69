// Command torture runs ZooKeeper recipes under injected faults, and judges what the clients saw. Its code is package
// torturecli, which also makes commands with kinds and recipes of your own.
package main

import (
	buildversion "github.com/zktorture/zktorture/internal/version"
	"github.com/zktorture/zktorture/torturecli"
)

// version is set by release builds: -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	buildversion.Release = version
	torturecli.Main()
}
