// Package call has what all that send requests to ZooKeeper have to know: what has become of a request that failed, and
// how long to pause before the next.
package call

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Fate is what an error says of the request that it came from.
type Fate int

const (
	// Answered: the server, or the client's check of the arguments, gave a definite answer.
	Answered Fate = iota
	// Unsent: the request never left the client and had no effect.
	Unsent
	// Lost: the request or its reply was lost. Whether it had an effect is unknown.
	Lost
	// Closed: nothing will be answered any more, and whether this request had an effect is unknown.
	Closed
)

// definite are the errors after which the outcome of a request is known: none of them leaves an effect behind.
// ErrSessionExpired and ErrSessionMoved are missing on purpose: go-zookeeper also hands the former to requests that
// were under way when it learnt of the expiry (conn.go, loop).
var definite = []error{
	zk.ErrAPIError, zk.ErrNoNode, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals,
	zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrInvalidACL, zk.ErrInvalidFlags, zk.ErrAuthFailed,
	zk.ErrReconfigDisabled, zk.ErrBadArguments, zk.ErrInvalidPath,
}

// otherCode begins the error that go-zookeeper makes of an error code of the server for which it has no name
// (constants.go, toError), such as an exceeded quota. It is an answer all the same.
const otherCode = "unknown error: "

// FateOf sorts an error that a connection has returned. What is not known to be an answer counts as lost, above all the
// raw errors that go-zookeeper lets through when a write fails.
func FateOf(err error) Fate {
	switch {
	case err == nil:
		return Answered
	case errors.Is(err, zk.ErrNoServer):
		return Unsent // conn.go, flushUnsentRequests: only what was still queued
	case errors.Is(err, zk.ErrClosing):
		return Closed
	case strings.HasPrefix(err.Error(), otherCode) || isAny(err, definite):
		return Answered
	}
	return Lost
}

// broken are the errors of a connection or of its session.
var broken = []error{
	zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrClosing, zk.ErrSessionExpired, zk.ErrSessionMoved,
	io.EOF, io.ErrUnexpectedEOF,
}

// Disconnected reports whether an error that a recipe has returned is that of a connection or of its session. Recipes
// have errors of their own, so what is not known to be one is none, other than in [FateOf].
func Disconnected(err error) bool {
	var network net.Error
	return isAny(err, broken) || errors.As(err, &network)
}

func isAny(err error, known []error) bool {
	return slices.ContainsFunc(known, func(k error) bool { return errors.Is(err, k) })
}
