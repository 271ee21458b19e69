// Package ensemble runs a real ZooKeeper on the loopback interface, for tests and torture runs.
//
// # What an ensemble is
//
// One, three or five servers, each a Java process with a folder of its own. One server runs standalone; several elect
// a leader, through which all writes go, and go on as long as a majority lives. [Start] returns when every server
// serves; [Ensemble.Stop] kills the processes and removes the files.
//
//	e, err := ensemble.Start(ctx, ensemble.Options{Nodes: 3})
//	if err != nil { … }
//	defer e.Stop()
//	client, err := zkclient.Connect(e.ConnectString(), 2*time.Second)
//	if err != nil { … }
//	defer client.Close()
//	if err := client.WaitSession(ctx); err != nil { … }
//
// # How it is hurt
//
// Members are numbered from 0. [Member.Kill] is the death of a machine, [Member.Stop] an orderly shutdown,
// [Member.Pause] a machine that hangs: it keeps its connections and ports, its kernel accepts new connections, and
// nothing is answered. [Member.Restart] and [Member.Resume] undo them. Data survives: the files are the member's, not
// the process's.
//
// [Ensemble.Hold] stops a follower at one transaction until [Ensemble.Free], so that its clients read stale values, as
// ZooKeeper's Programmer's Guide, "Consistency Guarantees", allows. Connections of clients are hurt by package proxy.
//
// A plan of faults has them all in one form: a [Fault] is a kind and a target, which may be the leader or a follower.
//
//	struck, err := e.Strike(ctx, ensemble.Fault{Kind: strike.Kill, Target: ensemble.Leader})
//	… // struck says which member that was, and struck.Undo takes it back
//	err = e.HealAll(ctx) // all is undone, and the ensemble is well and stays so
//
// Consequences take time. When the leader is killed there is another in about half a second; when it is stopped,
// after SyncLimit ticks and half a second.
//
// # What time means
//
// A ZooKeeper server measures time in ticks, [Options.Tick]. A session timeout is 2 to 20 ticks, the nearest to what
// the client asked for; the session expires on the first tick after it, up to about 1.5 ticks late. A follower that
// is silent for SyncLimit ticks is dropped, and a leader that does not hear a majority for as long steps down
// (ZooKeeper Administrator's Guide, "Minimum Configuration" and "Cluster Options").
//
// # What is promised about processes
//
// On Linux no server outlives the process that started it, even if that is killed with SIGKILL: the kernel kills the
// servers. On other systems only Stop ends them.
//
// The files of a process that was killed go with the next Start: they are in the system's folder for temporary files.
//
// # What is needed
//
// A Unix (elsewhere [Start] says where to run it instead), Java 11 or newer, found through JAVA_HOME or PATH, and
// ZooKeeper's jars, which [Fetch] finds or downloads. The servers write without fsync: a killed process loses nothing, a machine without power would.
package ensemble
