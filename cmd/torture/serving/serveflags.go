package serving

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk"
)

// zooFlags are what zoo.cfg and Java's properties tell ZooKeeper.
type zooFlags struct {
	Tick           time.Duration `default:"2s" aliases:"tick-time" help:"tickTime. Session timeouts are 2 to 20 ticks, unless the next two flags are given." range:"1ms.."`
	MinSession     time.Duration `name:"min-session-timeout" aliases:"min-session" help:"minSessionTimeout. Default: 2 ticks." range:">0"`
	MaxSession     time.Duration `name:"max-session-timeout" aliases:"max-session" help:"maxSessionTimeout. Default: 20 ticks." range:">0"`
	SyncLimit      int64         `default:"5" placeholder:"TICKS" help:"syncLimit: how long a deposed leader keeps serving, in ticks (${default})." range:"1.."`
	MaxClientCnxns int           `default:"60" help:"maxClientCnxns: maximum number of connections from a host to a server; 0: no limit." range:"0.."`
	JuteMaxbuffer  int64         `default:"1048575" placeholder:"BYTES" help:"jute.maxbuffer: the longest request, in bytes (${default})." range:"1024..1073741824"`
	CheckInterval  time.Duration `name:"container-check-interval" default:"1m" help:"znode.container.checkIntervalMs: how often empty containers and znodes past their TTL are removed." range:"1ms.."`
	TTL            bool          `help:"Allow znodes with a time to live (zookeeper.extendedTypesEnabled)."`
	Reconfig       bool          `help:"Allow the super user to change /zookeeper/config (reconfigEnabled)."`
	ReadOnly       bool          `help:"Serve read-only clients when there is no quorum (readonlymode.enabled)."`
	EnforceQuota   bool          `help:"Refuse writes beyond a hard limit of /zookeeper/quota (enforceQuota)."`
	User           []string      `sep:"none" placeholder:"NAME:PASSWORD" help:"A user for SASL DIGEST-MD5; may be repeated."`
	SuperDigest    string        `aliases:"super" placeholder:"NAME:DIGEST" help:"The super user for addauth digest (zookeeper.DigestAuthenticationProvider.superDigest)."`
}

func (z *zooFlags) check() error {
	least := cmp.Or(z.MinSession, 2*z.Tick)
	switch {
	case z.MaxSession != 0 && z.MaxSession < least:
		return fmt.Errorf("--max-session-timeout %v is less than --min-session-timeout %v", z.MaxSession, least)
	case z.MaxSession == 0 && 20*z.Tick < least:
		return fmt.Errorf("--min-session-timeout %v is more than 20 ticks, %v: set --max-session-timeout", least, 20*z.Tick)
	case max(least, z.MaxSession, 20*z.Tick) > sessionMax:
		return fmt.Errorf("sessions can take at most %v: choose a shorter --tick or session timeout", sessionMax)
	case z.SuperDigest != "" && !isDigest(z.SuperDigest):
		return errors.New("--super-digest is NAME:DIGEST, with what this prints as DIGEST: " +
			"printf %s NAME:PASSWORD | openssl sha1 -binary | base64")
	}
	return nil
}

// sessionMax is the longest session timeout that the protocol can express.
const sessionMax = math.MaxInt32 * time.Millisecond

// isDigest reports whether a text is a name and a SHA-1 in base64.
func isDigest(text string) bool {
	name, digest, _ := strings.Cut(text, ":")
	sum, err := base64.StdEncoding.DecodeString(digest)
	return name != "" && err == nil && len(sum) == 20
}

// ensemble configures servers that listen at these addresses.
func (z *zooFlags) ensemble(ports []net.Listener) (fakezk.Config, error) {
	users, err := z.users()
	cfg := fakezk.Config{
		Replicas: len(ports), Tick: z.Tick.Milliseconds(), MinSession: z.MinSession.Milliseconds(),
		MaxSession: z.MaxSession.Milliseconds(), SyncLimit: z.SyncLimit, ReapInterval: z.CheckInterval.Milliseconds(),
		BufferMax: z.JuteMaxbuffer, TTL: z.TTL, Super: z.SuperDigest, Users: users, Order: rand.Uint64(),
		Reconfig: z.Reconfig, ReadOnly: z.ReadOnly, EnforceQuota: z.EnforceQuota,
	}
	if z.Reconfig && len(ports) > 1 {
		cfg.Members = members(ports)
	}
	return cfg, err
}

// users are those of --user; nil if there is none, which turns logins off.
func (z *zooFlags) users() (users map[string]string, err error) {
	if len(z.User) > 0 {
		users = map[string]string{}
	}
	for _, user := range z.User {
		name, password, ok := strings.Cut(user, ":")
		if !ok || name == "" || password == "" {
			return nil, fmt.Errorf("--user %q: NAME:PASSWORD is needed", user)
		}
		if _, twice := users[name]; twice {
			return nil, fmt.Errorf("--user %s is given twice", name)
		}
		users[name] = password
	}
	return users, nil
}

// members are the lines of /zookeeper/config: clients go by their addresses. The ports between servers are not there.
func members(ports []net.Listener) (lines []string) {
	for i, l := range ports {
		host, _, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			continue
		}
		between := net.JoinHostPort(host, fmt.Sprintf("%d:%d", 2888+i, 3888+i))
		lines = append(lines, fmt.Sprintf("server.%d=%s:participant;%v", i+1, between, l.Addr()))
	}
	return lines
}
