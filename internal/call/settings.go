package call

import (
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"
)

// Settings are how a recipe sends its requests, as its options set them.
type Settings struct {
	ACL        []zk.ACL // of what it creates
	Retry      Policy
	Containers bool // are what missing parents become
	Sync       bool // begins reads, in place of a transaction
}

// SettingsOf are the default settings, changed by options.
func SettingsOf[Option ~func(*Settings)](opts ...Option) Settings {
	s := Settings{ACL: everybody, Retry: DefaultRetry}
	for _, opt := range opts {
		opt(&s)
	}
	return s
}

// everybody may do everything.
var everybody = zk.WorldACL(zk.PermAll)

// DefaultRetry is the policy of pauses by default.
var DefaultRetry = Policy{DelayMin: 50 * time.Millisecond, DelayMax: 2 * time.Second}

// Policy says how long to pause after a lost request: about DelayMin, then twice as long each time, up to DelayMax.
type Policy struct{ DelayMin, DelayMax time.Duration }

// Delay draws the pause after one more failure than failures, between half of that and the whole, so that the clients of
// a server that has failed do not all come back at the same moment. It draws from the identities of the connection,
// which a simulator controls.
func (p Policy) Delay(conn any, failures int) time.Duration {
	d := max(p.DelayMin, time.Millisecond)
	for ; failures > 0 && d < p.DelayMax; failures-- {
		d *= 2
	}
	d = min(d, max(p.DelayMax, p.DelayMin, time.Millisecond))
	guid := NewGUID(conn)
	drawn, _ := strconv.ParseUint(guid[:min(4, len(guid))], 16, 16) // without such digits the pause is the longest
	return d - time.Duration(drawn)*(d/2)>>16
}
