package workload

// The animals that are queues.
var queueAnimals = []Animal{}

var absentQueues = []Absent{}
