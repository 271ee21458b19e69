// Package foreign has recipes of other projects, unmodified: locks, elections and claims in Go that take a *zk.Conn, or
// connect by themselves and are simulated in exact mode. What is here only gives each the methods that package workload calls. The variable listed has them;
// what came of torturing them is in results/foreigngo.md.
//
//	go -C zoo/foreign run ./torture run lock --recipe vault --exact
//
// It is a module of its own, with the projects in its go.mod, because users of zktorture get what zktorture's own
// go.mod requires.
package foreign
