// Command torture runs ZooKeeper recipes through bad days and judges what the clients saw. What it can do is in package
// torturecli, with which a command of one's own has further kinds and recipes.
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
