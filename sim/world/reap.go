package world

import (
	"slices"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

func init() {
	faultTable[Reap.Index()] = fault{
		name: "reap",
		help: "an empty parent is removed by somebody else",
		find: findReap, strike: strikeReap,
		victim: func(*World, Target) int { return -1 },
		then:   Loss,
	}
}

// findReap finds empty parents, wherever they are: znodes that have had children and have none now.
func findReap(w *World, add func(Target)) {
	if w.empty = w.empty[:0]; w.outage.now {
		return
	}
	w.servers.Walk("/", func(path string, n fakezk.NodeInfo) {
		if path != "/" && path != Root0 && len(n.Children) == 0 && w.parents[path] && !slices.Contains(w.provisioned, path) {
			w.empty = append(w.empty, path)
		}
	})
	for i := range w.empty {
		add(Target{client: i, variants: 1})
	}
}

func strikeReap(w *World, t Target, _ int) {
	path := w.empty[t.client]
	w.noteFault(Reap, -1, path, "somebody removes the empty parent")
	w.noteTalk(Talk{Kind: TalkDeletes, Path: path})
	w.servers.Admin(w.now(), &fakezk.Request{Op: wire.OpDelete, Path: path, Version: -1})
}
