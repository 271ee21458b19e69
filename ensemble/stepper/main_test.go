package stepper_test

import (
	"testing"

	"github.com/zktorture/zktorture/internal/ensembletest"
)

func TestMain(m *testing.M) { ensembletest.Main(m) }
