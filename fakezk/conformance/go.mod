module github.com/zktorture/zktorture/fakezk/conformance

go 1.26.0

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/google/go-cmp v0.7.0
	github.com/zktorture/zktorture v0.0.0
	pgregory.net/rapid v1.3.0
)

require (
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
