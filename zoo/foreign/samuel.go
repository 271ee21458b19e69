package foreign

import (
	"errors"

	"github.com/go-zookeeper/zk"
	samuel "github.com/samuel/go-zookeeper/zk"
)

// continued are errors of samuel/go-zookeeper and what they are called in go-zookeeper.
var continued = map[error]error{
	samuel.ErrConnectionClosed: zk.ErrConnectionClosed, samuel.ErrNoServer: zk.ErrNoServer,
	samuel.ErrClosing: zk.ErrClosing, samuel.ErrSessionExpired: zk.ErrSessionExpired,
	samuel.ErrNoNode: zk.ErrNoNode, samuel.ErrNodeExists: zk.ErrNodeExists, samuel.ErrNotEmpty: zk.ErrNotEmpty,
	samuel.ErrBadVersion: zk.ErrBadVersion, samuel.ErrInvalidPath: zk.ErrInvalidPath, samuel.ErrNoAuth: zk.ErrNoAuth,
	samuel.ErrNoChildrenForEphemerals: zk.ErrNoChildrenForEphemerals, samuel.ErrInvalidACL: zk.ErrInvalidACL,
}

// translated is an error of samuel/go-zookeeper as one of go-zookeeper, by which package workload judges.
func translated(err error) error {
	for old, now := range continued {
		if errors.Is(err, old) {
			return now
		}
	}
	return err
}
