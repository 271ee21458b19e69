module github.com/zktorture/zktorture/cmd/torture

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/go-zookeeper/zk v1.0.4
	github.com/google/go-cmp v0.7.0
	github.com/rogpeppe/go-internal v1.14.1
	github.com/zktorture/zktorture v0.0.0
	github.com/zktorture/zktorture/sim/prove v0.0.0
	github.com/zktorture/zktorture/zoo v0.0.0
	golang.org/x/sys v0.49.0
	golang.org/x/tools v0.51.0
)

require (
	github.com/alecthomas/kong v1.17.0 // indirect
	golang.org/x/mod v0.41.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
