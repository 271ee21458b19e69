//go:build !zktexact

package world

import "github.com/zktorture/zktorture/fakezk/goclient"

func (*process) maker(*goclient.Call) *Op { return nil }

// Claims notes nothing but in exact mode.
func (*Op) Claims() {}

func behindMutex(*World, *User) string { return "" }
func sharedMutex(*World) string        { return "" }
