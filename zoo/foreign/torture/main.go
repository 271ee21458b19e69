// Command torture is the command torture with the recipes of other projects.
package main

import (
	"github.com/zktorture/zktorture/torturecli"
	"github.com/zktorture/zktorture/zoo/foreign"
)

func main() { torturecli.Main(foreign.Kinds()...) }
