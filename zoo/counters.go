package zoo

import (
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

// The animals that count.
var countingAnimals = []Animal{
	kazooCounter("C1", "a set whose reply is lost is repeated from the start, and counts twice", "counted-twice", "loss"),
	kazooCounter("C9", "a server that lags gives an old number", "stale-get", "lag"),
	curatorCounter("C2", "a set repeated by the client meets itself, and is taken for somebody else's", "counted-twice", "loss"),
}

func kazooCounter(id, title, property, needs string) Animal {
	return counterAnimal(id, title, "kazoo 2.8, kazoo/recipe/counter.py", property, needs, func(c recipes.Conn, path string, bugs published.Bugs) workload.Adder {
		return published.NewKazooCounter(c, path, bugs)
	})
}

func curatorCounter(id, title, property, needs string) Animal {
	return counterAnimal(id, title, "Apache Curator 5.4, DistributedAtomicLong", property, needs, func(c recipes.Conn, path string, bugs published.Bugs) workload.Adder {
		return published.NewCuratorCounter(c, path, bugs)
	})
}

func counterAnimal(id, title, source, property, needs string, new func(c recipes.Conn, path string, bugs published.Bugs) workload.Adder) Animal {
	return pair(Animal{ID: id, Title: title, Source: source, Property: property, Needs: needs}, func(bugs published.Bugs) *workload.Workload {
		return workload.Counter(func(c recipes.Conn, path string) workload.Adder { return new(c, path, bugs) }, as(source+" with "+bugs.String())...)
	})
}
