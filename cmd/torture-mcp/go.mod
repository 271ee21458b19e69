module github.com/zktorture/zktorture/cmd/torture-mcp

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/google/jsonschema-go v0.4.3
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/zktorture/zktorture v0.0.0
	github.com/zktorture/zktorture/sim/prove v0.0.0
	github.com/zktorture/zktorture/zoo v0.0.0
)

require (
	github.com/alecthomas/kong v1.17.0 // indirect
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/go-zookeeper/zk v1.0.4 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/oauth2 v0.35.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
