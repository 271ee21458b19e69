package worker

import (
	"context"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// HostOf serves a workload's recipe over a connection.
func HostOf(w *workload.Workload, conn recipes.Conn, close func()) (*Host, error) {
	return hostOf(w, conn, close, func(err error) { panic(err) })
}

// Kinds lists the kinds whose recipes may be in other processes.
var Kinds = kindNames

// StartLate starts a worker and looks at what it says only when it has ended.
func StartLate(ctx context.Context, config Config) error {
	l, err := (&Client{cfg: config.withDefaults()}).spawn(1)
	if err != nil {
		return err
	}
	<-l.over
	return l.begin(ctx)
}
