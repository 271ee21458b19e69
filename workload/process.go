package workload

import (
	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
)

// processOf identifies the process to which a connection belongs.
func processOf(c recipes.Conn) any {
	if handle, ok := c.(*fakezk.Conn); ok {
		return handle.Client
	}
	if handle, ok := c.(interface{ Unwrap() recipes.Conn }); ok {
		return processOf(handle.Unwrap())
	}
	return c
}
