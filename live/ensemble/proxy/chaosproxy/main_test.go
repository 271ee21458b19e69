package chaosproxy_test

import (
	"testing"

	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
)

func TestMain(m *testing.M) { ensembletest.Main(m) }
