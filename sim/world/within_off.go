//go:build !zktexact

package world

// between is what processes have opened to reach each other: in exact mode only.
type between struct{}

func (*between) arrivals(*process, func(ActionKind, int)) {}
func (*between) cut(*door)                                {}
func (*between) end()                                     {}
func (*process) carry(int)                                {}
