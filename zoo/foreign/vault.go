package foreign

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/go-hclog"
	vault "github.com/hashicorp/vault/physical/zookeeper"
	"github.com/hashicorp/vault/sdk/physical"

	"github.com/zktorture/zktorture/recipes"
)

// vaultLock is the lock that the active one of several Vaults holds. It is used as Vault does (vault/ha.go): a new
// one, with a new value, after each term; the same one after an error.
type vaultLock struct {
	backend *vault.ZooKeeperBackend
	lock    physical.Lock
	lost    <-chan struct{}
}

func newVault(c *zk.Conn, path string) any { return &vaultLock{backend: vaultBackend(c, path)} }

func dialVault(servers []string, path string) any {
	conf := map[string]string{"address": strings.Join(servers, ","), "path": path}
	return &vaultLock{backend: made(vault.NewZooKeeperBackend(conf, hclog.NewNullLogger())).(*vault.ZooKeeperBackend)}
}

// vaultBackend is what NewZooKeeperBackend makes.
func vaultBackend(c *zk.Conn, path string) *vault.ZooKeeperBackend {
	b := &vault.ZooKeeperBackend{}
	connected(b, "path", path+"/")
	connected(b, "client", c)
	connected(b, "acl", zk.WorldACL(zk.PermAll))
	connected(b, "logger", hclog.NewNullLogger())
	return b
}

func (l *vaultLock) Lock(ctx context.Context) (err error) {
	if l.lock == nil {
		if l.lock, err = l.backend.LockWith("lock", rand.Text()); err != nil {
			return err
		}
	}
	l.lost, err = l.lock.Lock(ctx.Done())
	if err == nil && l.lost == nil { // given up; what is under way ends by itself
		l.lock = nil
		return ctx.Err()
	}
	return err
}

// Unlock is called once for each term: Vault's goes on by itself after an error.
func (l *vaultLock) Unlock(context.Context) error {
	lock := l.lock
	if lock == nil {
		return recipes.ErrNotHeld
	}
	l.lock = nil
	return lost(lock.Unlock(), zk.ErrNotLocked, zk.ErrNoNode)
}

// Lost is closed when Vault steps down.
func (l *vaultLock) Lost() <-chan struct{} { return l.lost }
