package call

import (
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

// Policy says how long to pause after a lost request: DelayMin, then twice as long each time, up to DelayMax.
type Policy struct{ DelayMin, DelayMax time.Duration }

// Delay returns the pause after one more failure than failures.
func (p Policy) Delay(failures int) time.Duration {
	d := max(p.DelayMin, time.Millisecond)
	for ; failures > 0 && d < p.DelayMax; failures-- {
		d *= 2
	}
	return min(d, max(p.DelayMax, p.DelayMin, time.Millisecond))
}
