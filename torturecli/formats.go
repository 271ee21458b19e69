package torturecli

import "github.com/zktorture/zktorture/internal/fileformat"

func init() {
	fileformat.Register[summary]("run-result")
	fileformat.Register[zooSummary]("zoo-result")
	fileformat.Register[ready]("serve-ready")
	fileformat.Register[listing]("list")
	fileformat.Register[diagnoses]("doctor")
}
