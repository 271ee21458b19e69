package linearizability_test

import (
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
)

func init() { linearizability.StaleReads = histories.StaleReads }
