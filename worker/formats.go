package worker

import "github.com/zktorture/zktorture/internal/fileformat"

func init() {
	fileformat.Register[command]("worker-command")
	fileformat.Register[reply]("worker-reply")
}
