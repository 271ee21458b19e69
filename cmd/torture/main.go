// Command torture runs ZooKeeper recipes through bad days and judges what the clients saw. What it can do is in package
// torturecli, with which a command of one's own has further kinds and recipes.
package main

import "github.com/zktorture/zktorture/torturecli"

func main() { torturecli.Main() }
