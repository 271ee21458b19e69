package foreign

import (
	"context"
	"errors"
	"time"

	"github.com/samuel/go-zookeeper/zk"
	"github.com/wvanbergen/kazoo-go"
)

// claim is the claim of an instance of a consumer group to a partition, which one instance has at a time.
type claim struct{ instance *kazoo.ConsumergroupInstance }

const (
	claimedTopic     = "topic"
	claimedPartition = 1
)

func newClaim(c *zk.Conn, path string) any {
	return claim{kazooStore(c, path).Consumergroup("group").NewInstance()}
}

func dialClaim(servers []string, path string) any {
	conf := kazoo.NewConfig()
	conf.Chroot, conf.Logger = path, silence{}
	return claim{made(kazoo.NewKazoo(servers, conf)).Consumergroup("group").NewInstance()}
}

// kazooStore is what NewKazoo makes.
func kazooStore(c *zk.Conn, chroot string) *kazoo.Kazoo {
	conf := kazoo.NewConfig()
	conf.Chroot = chroot
	k := &kazoo.Kazoo{}
	connected(k, "conn", c)
	connected(k, "conf", conf)
	return k
}

func (c claim) TryLock(context.Context) (bool, error) {
	err := c.instance.ClaimPartition(claimedTopic, claimedPartition)
	if errors.Is(err, kazoo.ErrPartitionClaimedByOther) {
		return false, nil
	}
	return err == nil, translated(err)
}

// Lock tries once a second for a minute, whatever the error, as the consumer group of github.com/wvanbergen/kafka does.
func (c claim) Lock(ctx context.Context) error {
	var err error
	for range 60 {
		if err = c.instance.ClaimPartition(claimedTopic, claimedPartition); err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return translated(err)
}

func (c claim) Unlock(context.Context) error {
	err := translated(c.instance.ReleasePartition(claimedTopic, claimedPartition))
	return lost(err, kazoo.ErrPartitionNotClaimed)
}
