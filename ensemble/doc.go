// Package ensemble runs a real ZooKeeper on the loopback interface, for tests and torture runs.
//
// # What an ensemble is
//
// One, three or five servers, each a Java process of its own with a folder of its own. With one
// the server runs standalone; with more they elect a leader, through which all writes go, and
// go on as long as a majority lives. [Start] returns when every server serves; [Ensemble.Stop]
// kills the processes and removes the files.
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
// Members are numbered from 0. [Member.Kill] is the death of a machine, [Member.Stop] an orderly
// shutdown, [Member.Pause] a machine that hangs: it keeps its connections and its ports, accepts
// new connections (the kernel does that) and answers nothing. [Member.Restart] and
// [Member.Resume] undo them. Data survives: the files are the member's, not the process's.
//
// [Ensemble.Lag] makes what a member hears from its leader late, and so what it serves old: ZooKeeper
// promises that reads may be stale ("Consistency Guarantees" of the Programmer's Guide), and this is how to
// see it. [Ensemble.Hold] holds a follower at one transaction, exactly, until [Ensemble.Free].
// [Ensemble.Partition], [Ensemble.Cut] and [Ensemble.Lossy] take links between members away, both ways, one way or in
// part, and [Ensemble.Heal] gives them back; they need [Options.Namespaces]. None of these touches the connections of
// clients: package proxy does.
//
// For a plan of faults all have one form: a [Fault] is a kind and a target, which may be the leader or a
// follower of the moment.
//
//	struck, err := e.Strike(ctx, ensemble.Fault{Kind: ensemble.Partition, Target: ensemble.Leader})
//	… // struck says which member that was, and struck.Undo takes it back
//	err = e.HealAll(ctx) // all is undone, and the ensemble is well and stays so
//
// What follows from a fault takes its time. With the leader killed the others have another in about
// half a second; with the leader stopped or cut off after SyncLimit ticks and half a second. A member that is cut off from
// the majority serves reads for so long, stale ones, and then no more. A leader that hears nobody but
// is heard may be elected again and again, so that there is none for many seconds.
//
// # What time means
//
// Everything in a ZooKeeper server is measured in ticks, [Options.Tick]. A session may ask for 2
// to 20 ticks and gets the nearest it may have; it expires on the first tick after its timeout,
// so between 0 and about 1.5 ticks late. A follower that is not heard of for SyncLimit ticks is
// dropped, and a leader that does not hear of a majority for as long steps down. (ZooKeeper
// Administrator's Guide, "Minimum Configuration" and "Cluster Options".)
//
// # What is promised about processes
//
// On Linux no server outlives the process that started it, not even when that one is killed with
// SIGKILL: the kernel kills the servers then, and namespaces vanish with them. On other systems only
// Stop ends them.
//
// The files go too, unless [Options.Keep] is set: a small process, which ends with the ensemble, removes them
// if this one was killed. If both were killed, as when a container ends, the next Start in the same place does
// it. Package scratch has the details.
//
// # What is needed
//
// Java 11 or newer, found through JAVA_HOME or PATH, a shell (sh), and ZooKeeper's jars, which [Fetch] finds or
// downloads. Partitions need Linux and privileges: see package netns. The servers write without
// fsync: a killed process loses nothing, only a machine without power would.
package ensemble
