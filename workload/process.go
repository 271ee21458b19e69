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
	return c
}
