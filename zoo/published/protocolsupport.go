package published

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// ProtocolSupport is the base of protocols: it repeats operations when the connection to ZooKeeper is lost. After
// org.apache.zookeeper.recipes.lock.ProtocolSupport, Apache ZooKeeper 3.4.6.
type ProtocolSupport struct {
	zookeeper  recipes.Conn
	closed     atomic.Bool
	retryDelay time.Duration
	retryCount int
	acl        []zk.ACL
}

// retryCount is how often an operation is tried.
const retryCount = 10

// NewProtocolSupport returns a base with ten attempts, half a second apart at first, and an ACL that allows everything.
func NewProtocolSupport(zookeeper recipes.Conn) *ProtocolSupport {
	return &ProtocolSupport{
		zookeeper: zookeeper, retryDelay: 500 * time.Millisecond, retryCount: retryCount,
		acl: zk.WorldACL(zk.PermAll),
	}
}

// Close closes this strategy but keeps the ZooKeeper instance open.
func (p *ProtocolSupport) Close() {
	p.closed.CompareAndSwap(false, true) // BUG: W10 nothing is deleted, and unlock does nothing from now on
}

// retryOperation performs an operation and repeats it when the connection is lost.
func (p *ProtocolSupport) retryOperation(execute func() (bool, error)) (bool, error) {
	return p.repeat(p.retryCount, execute)
}

func (p *ProtocolSupport) repeat(times int, execute func() (bool, error)) (bool, error) {
	var exception error
	for i := range times {
		done, err := execute()
		if !connectionLoss(err) {
			return done, err
		}
		if exception == nil {
			exception = err
		}
		p.delay(i)
	}
	return false, exception
}

// SetRetryCount sets the number of attempts. (The original has ten, which no number of faults of one simulated
// episode uses up.)
func (p *ProtocolSupport) SetRetryCount(n int) { p.retryCount = n }

// ensurePathExists ensures that the path exists, with no data, the current ACL and no flags.
func (p *ProtocolSupport) ensurePathExists(path string) {
	p.retryOperation(func() (bool, error) { // BUG: W15 errors are only logged
		exists, _, err := p.zookeeper.Exists(path)
		if err != nil || exists {
			return exists, err
		}
		_, err = p.zookeeper.Create(path, nil, zk.FlagPersistent, p.acl)
		return err == nil, err
	})
}

// delay waits, unless this is the first attempt.
func (p *ProtocolSupport) delay(attempt int) {
	if attempt > 0 {
		time.Sleep(time.Duration(attempt) * p.retryDelay)
	}
}

// answers are the errors that are not a ConnectionLossException.
var answers = []error{
	zk.ErrAPIError, zk.ErrNoNode, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals,
	zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrInvalidACL, zk.ErrInvalidFlags, zk.ErrAuthFailed,
	zk.ErrReconfigDisabled, zk.ErrBadArguments, zk.ErrInvalidPath, zk.ErrSessionExpired,
	zk.ErrSessionMoved, zk.ErrClosing,
}

func connectionLoss(err error) bool {
	if err == nil || strings.HasPrefix(err.Error(), "unknown error: ") {
		return false
	}
	return !slices.ContainsFunc(answers, func(answer error) bool { return errors.Is(err, answer) })
}
