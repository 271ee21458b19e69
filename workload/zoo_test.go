package workload_test

import (
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

func init() {
	workload.Animals = func() (broken, mended []*workload.Workload) {
		for _, a := range zoo.Animals() {
			broken, mended = append(broken, a.Broken()), append(mended, a.Twin())
		}
		return broken, mended
	}
}
