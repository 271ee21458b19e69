// Command torture is the command torture with the recipes of other projects.
package main

import (
	"github.com/zktorture/zktorture"
	"github.com/zktorture/zktorture/zoo/foreign"
)

func main() { zktorture.Main(foreign.Kinds()...) }
