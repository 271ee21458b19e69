package foreign

import (
	"slices"

	"github.com/go-zookeeper/zk"
	samuel "github.com/samuel/go-zookeeper/zk"

	"github.com/zktorture/zktorture/workload"
)

// Recipe is a recipe of another project. It has one of the constructors, by the client library that the project uses;
// what that makes is for one user of a session, about the object at a path, and is what the constructor of the kind is
// given, such as a workload.Locker.
type Recipe struct {
	Kind, Name string
	Module     string // that has it
	New        func(c *zk.Conn, path string) any
	Samuel     func(c *samuel.Conn, path string) any // for github.com/samuel/go-zookeeper, which New's library continues
	// Dials is how the project itself makes one that connects to the servers. Simulated worlds make it so, in exact mode.
	Dials func(servers []string, path string) any

	Terms []workload.Option // what it promises less than its kind does
}

var unfair = []workload.Option{workload.Unfair()}

// listed are all that there are.
var listed = []Recipe{
	{Kind: "lock", Name: "go-zookeeper", Module: "github.com/go-zookeeper/zk", New: newGoZookeeper},
	{Kind: "lock", Name: "gnmi-gateway", Module: "github.com/openconfig/gnmi-gateway", New: newGNMI, Terms: unfair},
	{Kind: "lock", Name: "byteway", Module: "github.com/bytewayio/byteway/cypress", New: newByteway},
	{Kind: "lock", Name: "vault", Module: "github.com/hashicorp/vault", New: newVault, Dials: dialVault},
	{Kind: "lock", Name: "valkeyrie", Module: "github.com/kvtools/zookeeper", New: newValkeyrie, Dials: dialValkeyrie},
	{Kind: "lock", Name: "kazoo-go", Module: "github.com/wvanbergen/kazoo-go", Samuel: newClaim, Dials: dialClaim, Terms: unfair},
	{Kind: "election", Name: "leadership", Module: "github.com/docker/leadership", Samuel: newCandidate, Dials: dialCandidate},
}

// Find returns the recipe of a kind and a name, and false if there is none.
func Find(kind, name string) (r Recipe, found bool) {
	i := slices.IndexFunc(listed, func(r Recipe) bool { return r.Kind == kind && r.Name == name })
	if i < 0 {
		return r, false
	}
	return listed[i], true
}
