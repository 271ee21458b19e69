// Package zkclient connects go-zookeeper (github.com/go-zookeeper/zk) to servers with settings under which a client
// keeps its session when servers fail.
//
// The recipes of this project take any connection that is a recipes.Conn, and a plain *zk.Conn is one. But a recipe
// is only as good as the session under it, and with the defaults of go-zookeeper a session is lost in situations
// which ZooKeeper is made to survive: one server of three that hangs suffices. [Client] is a *zk.Conn with what has
// to be different; its documentation says what that is, and what comes of the defaults.
//
//	client, err := zkclient.Connect("a:2181,b:2181,c:2181", 10*time.Second)
//	if err != nil { … }
//	defer client.Close()
//	if err := client.WaitSession(ctx); err != nil { … }
//	lock := recipes.NewLock(client, "/locks/printer")
//
// TLS, digest authentication and a look at every event are in [Config]. recipes.Around gets at each request, for
// metrics.
package zkclient
