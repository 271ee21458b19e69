package wire

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Code is an error code of ZooKeeper's protocol (KeeperException.Code). Zero is success.
type Code int32

// The codes.
const (
	CodeOK                      Code = 0
	CodeRuntimeInconsistency    Code = -2
	CodeMarshalling             Code = -5
	CodeUnimplemented           Code = -6
	CodeBadArguments            Code = -8
	CodeNewConfigNoQuorum       Code = -13
	CodeNoNode                  Code = -101
	CodeNoAuth                  Code = -102
	CodeBadVersion              Code = -103
	CodeNoChildrenForEphemerals Code = -108
	CodeNodeExists              Code = -110
	CodeNotEmpty                Code = -111
	CodeSessionExpired          Code = -112
	CodeInvalidACL              Code = -114
	CodeAuthFailed              Code = -115
	CodeSessionMoved            Code = -118
	CodeNotReadOnly             Code = -119
	CodeNoWatcher               Code = -121
	CodeReconfigDisabled        Code = -123
	CodeQuotaExceeded           Code = -125
)

// Err is the error that go-zookeeper returns for the code: one of its sentinel values where it
// has one, else the same "unknown error: …" that it makes up.
func (c Code) Err() error {
	if c == CodeOK {
		return nil
	}
	if i := -int(c); i > 0 && i < len(sentinels) && sentinels[i] != nil {
		return sentinels[i]
	}
	return fmt.Errorf("unknown error: %d", int32(c))
}

// sentinels are go-zookeeper's errors, each at its code with the sign turned.
var sentinels = [...]error{
	-CodeBadArguments:            zk.ErrBadArguments,
	-CodeNoNode:                  zk.ErrNoNode,
	-CodeNoAuth:                  zk.ErrNoAuth,
	-CodeBadVersion:              zk.ErrBadVersion,
	-CodeNoChildrenForEphemerals: zk.ErrNoChildrenForEphemerals,
	-CodeNodeExists:              zk.ErrNodeExists,
	-CodeNotEmpty:                zk.ErrNotEmpty,
	-CodeSessionExpired:          zk.ErrSessionExpired,
	-CodeInvalidACL:              zk.ErrInvalidACL,
	-CodeAuthFailed:              zk.ErrAuthFailed,
	-CodeSessionMoved:            zk.ErrSessionMoved,
	-CodeReconfigDisabled:        zk.ErrReconfigDisabled,
}
