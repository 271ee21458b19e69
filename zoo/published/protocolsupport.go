package published

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// protocolSupport is the base of protocols: it repeats operations when the connection to ZooKeeper is lost. After
// org.apache.zookeeper.recipes.lock.ProtocolSupport, Apache ZooKeeper 3.4.6.
type protocolSupport struct {
	zookeeper  recipes.Conn
	closed     atomic.Bool
	retryCount int
}

// retryCount is how often an operation is tried.
const retryCount = 10

// retryDelay is between the first attempts.
const retryDelay = 500 * time.Millisecond

// newProtocolSupport returns a base with ten attempts.
func newProtocolSupport(zookeeper recipes.Conn) *protocolSupport {
	return &protocolSupport{zookeeper: zookeeper, retryCount: retryCount}
}

// Close closes this strategy but keeps the ZooKeeper instance open. The znode stays.
func (p *protocolSupport) Close() {
	p.closed.CompareAndSwap(false, true)
}

// retryOperation performs an operation and repeats it when the connection is lost.
func (p *protocolSupport) retryOperation(execute func() (bool, error)) (bool, error) {
	return p.repeat(p.retryCount, execute)
}

func (p *protocolSupport) repeat(times int, execute func() (bool, error)) (bool, error) {
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
func (p *protocolSupport) SetRetryCount(n int) { p.retryCount = n }

// ensurePathExists ensures that the path exists, with no data, the current ACL and no flags.
func (p *protocolSupport) ensurePathExists(path string) {
	p.retryOperation(func() (bool, error) { // BUG: W15 errors are only logged
		exists, _, err := p.zookeeper.Exists(path)
		if err != nil || exists {
			return exists, err
		}
		_, err = p.zookeeper.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		return err == nil, err
	})
}

// delay waits, unless this is the first attempt.
func (p *protocolSupport) delay(attempt int) {
	if attempt > 0 {
		time.Sleep(time.Duration(attempt) * retryDelay)
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

// znodeName is the name of an ephemeral znode with an ordered sequence number, and is sorted by it.
// After org.apache.zookeeper.recipes.lock.ZNodeName, Apache ZooKeeper 3.4.6.
type znodeName struct {
	name     string
	prefix   string
	sequence int32 // -1 if the name has none
	czxid    int64 // of its creation, where numbers do not tell the order
}

// naming is how names are read and compared.
type naming struct {
	split   func(name string) znodeName
	compare func(a, b znodeName) int
}

// splitAtSign splits a name before its number, of which the sign is a part.
func splitAtSign(name string) znodeName {
	i := strings.LastIndexByte(name, '-')
	if i > 0 && name[i-1] == '-' {
		i--
	}
	return splitAt(name, i)
}

// splitAtHyphen splits a name at its last hyphen.
func splitAtHyphen(name string) znodeName {
	// BUG: W14 takes the sign of a number for the separator; "2147483648" does not fit: -1
	return splitAt(name, strings.LastIndexByte(name, '-'))
}

func splitAt(name string, i int) znodeName {
	z := znodeName{name: name, prefix: name, sequence: -1}
	if i >= 0 {
		z.prefix = name[:i]
		// If this fails we misdetected a sequence suffix, so -1 stays.
		if n, err := strconv.ParseInt(name[i+1:], 10, 32); err == nil {
			z.sequence = int32(n)
		}
	}
	return z
}

// wrapped reports whether the sequence number may not be greater than all before it.
func (z znodeName) wrapped() bool { return wrapped(int64(z.sequence)) }

func bySequence(a, b znodeName) int {
	return cmp.Or(a.compareSequence(b), strings.Compare(a.prefix, b.prefix))
}

func bySession(a, b znodeName) int {
	// BUG: W2 the prefix, with the session id, goes before the sequence
	return cmp.Or(strings.Compare(a.prefix, b.prefix), a.compareSequence(b))
}

func (z znodeName) compareSequence(that znodeName) int {
	s1, s2 := z.sequence, that.sequence
	switch {
	case s1 == -1 && s2 == -1:
		return strings.Compare(z.name, that.name)
	case s1 == -1:
		return 1
	case s2 == -1:
		return -1
	}
	return cmp.Compare(s1, s2)
}

// sortedSet is a TreeSet of the names: sorted, one of those that compare equal.
func (n naming) sortedSet(dir string, names []string) []znodeName {
	set := make([]znodeName, 0, len(names))
	for _, name := range slices.Sorted(slices.Values(names)) {
		set = append(set, n.split(dir+"/"+name))
	}
	slices.SortStableFunc(set, n.compare)
	return slices.CompactFunc(set, func(a, b znodeName) bool { return n.compare(a, b) == 0 })
}

// headSet returns the elements of a sorted set that come before z.
func (n naming) headSet(set []znodeName, z znodeName) []znodeName {
	i := slices.IndexFunc(set, func(e znodeName) bool {
		return e.name == z.name || e.czxid == 0 && n.compare(e, z) >= 0
	})
	if i < 0 {
		return set
	}
	return set[:i]
}
