// Command torture is the command torture with two additional kinds: the publisher and the rate limiter of the
// examples.
//
//	go run ./examples/torture run publisher --recipe careless
//	go run ./examples/torture live ratelimit --start 3
package main

import (
	"github.com/zktorture/zktorture"
	"github.com/zktorture/zktorture/examples/publisher"
	"github.com/zktorture/zktorture/examples/ratelimit"
)

func main() { zktorture.Main(publisher.Kind, ratelimit.Kind) }
