package workload

// The animals that are locks of the documents and of go-zookeeper.
var lockAnimals = []Animal{}

var absentLocks = []Absent{}
