package worker

import "github.com/zktorture/zktorture/internal/wholefile"

func init() {
	wholefile.NameFormat[command]("worker-command")
	wholefile.NameFormat[reply]("worker-reply")
}
