package goclient_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
)

// An in-memory ZooKeeper for a unit test: two clients, a watch, a lost session.
func ExampleLocal() {
	servers := goclient.NewLocal(fakezk.Config{})
	alice, _, _ := servers.Connect(10 * time.Second)
	bob, _, _ := servers.Connect(10 * time.Second)

	alice.Create("/leader", []byte("alice"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	data, _, gone, _ := bob.GetW("/leader")
	fmt.Printf("the leader is %s\n", data)

	servers.Disconnect(alice)           // her connection breaks …
	servers.Advance(15 * time.Second)   // … for longer than her session lasts
	fmt.Println((<-gone).Type)          // so the servers remove what was hers,
	fmt.Println(alice.SessionID() != 0) // which she does not know yet
	// Output:
	// the leader is alice
	// EventNodeDeleted
	// true
}
