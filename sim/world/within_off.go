//go:build !zktexact

package world

import "github.com/zktorture/zktorture/fakezk/goclient"

// between is what processes have opened to reach each other: in exact mode only.
type between struct{}

func (*between) arrivals(*process, func(ActionKind, int)) {}
func (*between) cut(*door)                                {}
func (*between) end()                                     {}
func (*between) heal(*World)                              {}
func (*between) aim(*process, func(Target))               {}
func (*between) losses(int) []loss                        { return nil }
func (*process) carry(int)                                {}
func (*process) lose(number, variant int)                 {}
func (*process) maker(*goclient.Call) *Op                 { return nil }

// Claims notes nothing but in exact mode.
func (*Op) Claims() {}

func behindMutex(*World, *User) string { return "" }
func sharedMutex(*World) string        { return "" }
