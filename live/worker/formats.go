package worker

import "github.com/zktorture/zktorture/internal/wholefile/formats"

func init() {
	formats.Name[command]("worker-command")
	formats.Name[reply]("worker-reply")
}
