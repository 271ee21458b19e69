package mylock

import (
	"testing"

	"github.com/zktorture/zktorture/sim"
)

func TestLock(t *testing.T) { sim.Check(t, tortured()) }
