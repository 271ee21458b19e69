module github.com/zktorture/zktorture/sim/prove

go 1.26.0

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/zktorture/zktorture v0.0.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/alecthomas/kong v1.17.0 // indirect
	github.com/anishathalye/porcupine v1.3.1 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
)
